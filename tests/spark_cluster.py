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

# Of a Java that lives for seconds: nothing is compiled twice, and the classes of Spark are taken as they are.
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
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
def standalone(folder: Path, ui_port: int = 0) -> Iterator[str]:
    """The address of a master with one worker; both are ended with the block.  ui_port: of its web page."""
    import pyspark

    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    begin = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    master += ["--webui-port", str(ui_port)]
    worker = ["org.apache.spark.deploy.worker.Worker", address, "--host", "127.0.0.1", "--webui-port", "0"]
    worker += ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work")]
    environment = os.environ | DAEMONS | {"SPARK_DAEMON_MEMORY": "256m"}
    with (folder / "spark.log").open("wb") as log, contextlib.ExitStack() as ended:
        for command in (master, worker):
            process = subprocess.Popen([*begin, *command], stdout=log, stderr=log, env=environment)
            ended.callback(end, process)
            wait_for(port, process, folder / "spark.log")
        yield address


def with_connect(port: int) -> dict[str, object]:
    """For CONF: the driver of a session is a server of Spark Connect as well, which saves the start of another."""
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }


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
