"""Who may know whom: the house of docs/architecture.md, read from the imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MODULES = sorted(path for floor in ("ndcg_core", "flows") for path in (ROOT / floor).rglob("*.py"))
CORE_MAY_IMPORT = {"ndcg_core", "numpy", "scipy", "threadpoolctl"}
ONLY_IN = {
    "duckdb": {"flows/warehouse.py"},
    "mlflow": {"flows/tracking.py"},
    "prefect": {"flows/evaluation.py", "flows/schedules.py"},
    "typer": {"flows/nightly.py", "flows/cli.py", "flows/options.py", "flows/terminal.py"},
}


def imported(path: Path) -> set[str]:
    """Top-level names of every module that a file imports, at its top or inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").partition(".")[0])
    return names


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
class TestModule:
    def test_keeps_to_its_floor(self, path: Path) -> None:
        if path.is_relative_to(ROOT / "ndcg_core"):
            outside = {name for name in imported(path) if name not in sys.stdlib_module_names}
            assert outside <= CORE_MAY_IMPORT
            assert "scipy.stats" not in path.read_text(encoding="utf-8").replace("`scipy.stats", ""), "slow to import"

    def test_heavy_libraries_have_one_door(self, path: Path) -> None:
        for library, rooms in ONLY_IN.items():
            assert library not in imported(path) or name_of(path) in rooms

    def test_is_not_two_rooms(self, path: Path) -> None:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400

    def test_functions_are_short(self, path: Path) -> None:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and name_of(path) != "flows/cli.py":
                assert (node.end_lineno or 0) - node.lineno < 60, node.name

    def test_no_postponed_annotations_in_flows(self, path: Path) -> None:
        """Prefect cannot resolve them in a served flow's parameters."""
        assert "from __future__ import annotations" not in path.read_text(encoding="utf-8")


def test_no_import_as_sql() -> None:
    assert not list((ROOT / "sql").glob("*.py"))


@pytest.mark.parametrize("command", [["compare", "--help"], ["check", "--help"], ["--version"]])
def test_commands_that_need_no_platform_import_none(command: list[str]) -> None:
    code = (
        "import sys\nfrom flows.cli import app\n"
        f"try:\n    app({command!r})\nexcept SystemExit:\n    pass\n"
        "print(sorted({'prefect', 'mlflow', 'duckdb', 'scipy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.splitlines()[-1] == "[]"
