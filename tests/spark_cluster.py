"""A real Spark for tests: a standalone master and one worker on loopback."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.servers import free_port

LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # of a Java that lives for seconds
DAEMONS = {  # in the environment of the scripts that begin one
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_JAVA_OPTS": LIGHT,
    "SPARK_LAUNCHER_OPTS": LIGHT,
}
# What a few rows need: one task at a time, and plans that are interpreted, since compiling them takes longer.
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": LIGHT,
    "spark.executor.extraJavaOptions": LIGHT,
    "spark.sql.shuffle.partitions": 1,
    "spark.default.parallelism": 1,
    "spark.sql.adaptive.enabled": False,
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def missing() -> str | None:
    """Why there can be no Spark here; None where there can."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed"
    return None if shutil.which("java") else "there is no Java"


@contextlib.contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The address of a master with one worker; both are ended with the block."""
    import pyspark

    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    begin = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["org.apache.spark.deploy.worker.Worker", address, "--host", "127.0.0.1", "--webui-port", "0"]
    worker += ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work")]
    environment = os.environ | DAEMONS | {"SPARK_DAEMON_MEMORY": "256m"}
    with (folder / "spark.log").open("wb") as log, contextlib.ExitStack() as ended:
        for command in (master, worker):
            process = subprocess.Popen([*begin, *command], stdout=log, stderr=log, env=environment)
            ended.callback(end, process)
            wait_for(port, process, folder / "spark.log")
        yield address


@contextlib.contextmanager
def connect(folder: Path) -> Iterator[str]:
    """The address of a server of Spark Connect, which is ended with the block."""
    import pyspark

    port = free_port()
    conf = CONF | {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": port}
    conf |= {"spark.ui.enabled": False, "spark.sql.warehouse.dir": folder / "warehouse"}
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    for key, value in conf.items():
        command += ["--conf", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
    environment = os.environ | DAEMONS
    with (folder / "connect.log").open("wb") as log, contextlib.ExitStack() as ended:
        process = subprocess.Popen([*command, "spark-internal"], stdout=log, stderr=log, env=environment, cwd=folder)
        ended.callback(end, process)
        wait_for(port, process, folder / "connect.log")
        yield f"sc://127.0.0.1:{port}"


def wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"Spark does not begin: {log.read_text(errors='replace')[-2000:]}")


def end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
