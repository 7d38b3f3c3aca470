"""The wheel, in an environment that holds nothing else of this project, beside somebody else's `flows` package."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import ROOT
from tests.skips import NO_READER
from tests.stores import make_once, with_prefect, with_store

SOURCES = ("ndcg_ab", "ndcg_core", "flows", "sql", "tests/data")
FOREIGN = 'raise ImportError("this is somebody else\'s package")\n'


class Installed(NamedTuple):
    """An environment with the wheel: its folders, and a working directory in which others keep their flows."""

    wheel: Path
    binaries: Path
    packages: Path
    directory: Path

    def run(self, *command: object, code: int = 0) -> str:
        """Runs a program of the environment in the working directory; what it prints."""
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = clean | {"PREFECT_HOME": str(self.directory / ".prefect")}
        words = [str(self.binaries / str(command[0])), *map(str, command[1:])]
        found = subprocess.run(words, cwd=self.directory, env=environment, capture_output=True, text=True, check=False)
        assert found.returncode == code, found.stdout + found.stderr
        return found.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """A new environment with the wheel alone; the dependencies are lent by this one, its checkout is not."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = built_once()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    binaries = folder / "venv" / "bin"
    subprocess.run([*installer(binaries / "python"), "--no-deps", "--no-index", wheel], check=True, capture_output=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "lent.pth").write_text("\n".join(lent) + "\n")
    directory = folder / "theirs"
    with_prefect(directory / ".prefect")
    (directory / "flows").mkdir(parents=True)
    (directory / "flows" / "__init__.py").write_text(FOREIGN)
    yield Installed(wheel, binaries, packages, directory)


def installer(python: Path) -> list[str]:
    """The command that installs for another Python: uv where it is there, which takes a tenth of pip's time."""
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        return [str(uv), "pip", "install", "--python", str(python), "--offline", "--no-config"]
    return [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]


def built_once() -> Path:
    """The wheel, one for all files of tests."""
    (found,) = make_once("wheel", built).glob("*.whl")
    return found


def built(folder: Path) -> None:
    """The wheel, by the backend itself, from a copy of the sources: the build writes beside them."""
    copy = folder / "sources"
    copy.mkdir(parents=True)
    for name in (*SOURCES, "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(ROOT / name, copy / name)
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["build-backend"]
    build = f"import {backend} as backend; backend.build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], check=True, capture_output=True, cwd=copy)


def packed(installed: Installed) -> set[str]:
    return {name for name in zipfile.ZipFile(installed.wheel).namelist() if ".dist-info/" not in name}


def test_it_holds_two_packages_and_nothing_else(installed: Installed) -> None:
    assert {name.partition("/")[0] for name in packed(installed)} == {"ndcg_ab", "ndcg_core"}
    assert {path.name for path in installed.packages.iterdir()} & {"flows", "sql"} == set()


def test_it_holds_every_file_of_the_checkout(installed: Installed) -> None:
    """A package that is not in pyproject's list would be missing here."""
    wanted = set()
    for name in SOURCES:
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and path.suffix not in (".pyc", ".so"):
                inside = path.relative_to(ROOT).as_posix().replace("tests/data", "example")
                wanted.add(inside if name.startswith("ndcg") else f"ndcg_ab/{inside}")
    assert {name for name in packed(installed) if not name.endswith(".so")} == wanted


def test_the_reader_is_compiled_for_every_python_from_the_oldest(installed: Installed) -> None:
    if not shutil.which("cc"):
        pytest.skip(NO_READER)
    (extension,) = [name for name in packed(installed) if name.endswith(".so")]
    assert extension == "ndcg_ab/sources/fast_reader/ranking_reader.abi3.so"
    assert installed.wheel.name.split("-")[2:4] == ["cp311", "abi3"]
    code = "from ndcg_ab.sources.fast_reader import ranking_reader as r; print(r.reduce(b'', 0, b' t\\n', 1, b''))"
    assert installed.run("python", "-c", code) == "None\n"


def test_without_a_compiler_the_wheel_is_made_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler")
    built(tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]


def test_the_program_and_the_sql_are_those_inside_it(installed: Installed) -> None:
    """What commands need of the wheel is in tests/slow/test_small_install.py."""
    assert installed.run("ndcg-ab", "--version").startswith("ndcg-ab ")
    code = "from ndcg_ab.engines.sql_files import sql_directory; print(sql_directory())"
    assert installed.run("python", "-c", code) == f"{installed.packages / 'ndcg_ab' / 'sql'}\n"


@pytest.mark.parametrize("more", [["--daily"], pytest.param([], marks=pytest.mark.soak)], ids=["daily", "whole"])
def test_deploy_and_serve_work_with_a_server_and_a_worker(installed: Installed, more: list[str]) -> None:
    """tests/slow/end_to_end.py, which also runs on its own; a foreign `flows` stands in its folder, too."""
    script = ROOT / "tests" / "slow" / "end_to_end.py"
    stores = with_prefect(with_store(installed.directory / "stores"))
    assert "all as expected" in installed.run("python", script, stores, *more)
