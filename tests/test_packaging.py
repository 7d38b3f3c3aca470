"""The wheel, in an environment that holds nothing else of this project."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_it_holds_the_packages_and_the_sql_and_nothing_else(wheel: Path) -> None:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {"flows", "ndcg_core"}
    packed = {Path(name).name for name in names if name.startswith("flows/sql/")}
    assert packed == {path.name for path in (ROOT / "sql").iterdir()}
    assert {"flows/templates/page.html", "flows/templates/page.css", "flows/templates/page.js"} <= set(names)


def test_the_command_works_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """A new environment with the wheel; the dependencies are lent by this one, its checkout is not."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    binaries = tmp_path / "venv" / "bin"
    install = [binaries / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, capture_output=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    data = ROOT / "tests" / "data"
    where = [binaries / "python", "-c", "import ndcg_ab.engines.duckdb; print(ndcg_ab.engines.duckdb.sql_directory())"]
    found = subprocess.run(where, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert found.stdout.strip() == str(packages / "flows" / "sql")
    command = [binaries / "ndcg-ab", "compare", "--judgments", data / "judgments.qrels"]
    command += ["--system", f"old={data / 'old.run'}", "--system", f"new={data / 'new.run'}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert "improved" in found.stdout
