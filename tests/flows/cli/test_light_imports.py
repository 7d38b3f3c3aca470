"""What commands over files do not import, because it takes half of a short command's time."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import invoke
from tests.paths import ROOT

UNUSED = {
    *("pandas", "numpy.f2py", "scipy.special", "scipy.stats", "pyarrow.parquet", "httpx", "adbc_driver_manager"),
    *("prefect", "mlflow", "jinja2", "sqlalchemy"),
}
COMPARE = ["compare", "--judgments", "judgments.qrels", "--system", "old=old.run", "--system", "new=new.run"]
AFTERWARDS = """
import pandas, scipy.special, scipy.stats
from ndcg_core.statistics import distributions
assert all(getattr(scipy.special, name) is getattr(distributions, name) for name in distributions.__all__)
assert scipy.stats.t.ppf(0.975, 10) == distributions.stdtrit(10, 0.975)
"""


def run(code: str) -> list[str]:
    """The lines that Python prints, in the folder of the example."""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "tests" / "data")
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def unused(command: list[str], names: set[str], afterwards: str = "") -> str:
    """Return which of these modules a command imports, as the last line of its process; run code after the command."""
    said = run(
        "import sys\nfrom ndcg_ab.flows.cli.app import app\n"
        f"try:\n    app({command!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print(sorted({names!r} & set(sys.modules)))\n{afterwards}"
    )
    return said[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "names", "afterwards"),
    [
        (COMPARE, UNUSED, AFTERWARDS),
        (["power", "--deviation", "0.1"], UNUSED | {"duckdb"}, ""),
        (["compare", "--help"], UNUSED | {"duckdb", "scipy"}, ""),
    ],
    ids=["compare, and all of them can be imported afterwards", "power", "help"],
)
def test_a_command_imports_nothing_that_it_does_not_use(command: list[str], names: set[str], afterwards: str) -> None:
    assert unused(command, names, afterwards) == "[]"


@pytest.mark.slow
def test_a_run_imports_what_its_tracker_and_page_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server that somebody names it neither imports Prefect nor starts one, which would make its home."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    config = tmp_path / "c.yaml"
    systems = "".join(f"\n  - {{name: {name}, file: {ROOT}/tests/data/{name}.run}}" for name in ("old", "new"))
    judgments = ROOT / "tests" / "data" / "judgments.qrels"
    config.write_text(f"name: c\njudgments: {judgments}\nsystems:{systems}\nmetrics: [ndcg@10]\ntracker: json_lines\n")
    needed = {"pyarrow.parquet", "jinja2"}
    assert unused(["run", str(config)], UNUSED - needed - {"pandas"}) == "[]"
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
def test_publishing_to_mlflow_imports_no_web_server() -> None:
    """The gateway of MLflow can still be used: its own code is executed when one of its attributes is read."""
    code = (
        "import sys, ndcg_ab.trackers.mlflow.client\n"
        "print(sorted({'fastapi', 'pandas', 'mlflow.gateway'} & set(sys.modules)))\n"
        "from ndcg_ab.extensions import skip_package_code\n"
        "with skip_package_code('mlflow.gateway'):\n"
        "    from mlflow.gateway import set_gateway_uri\n"
        "print('fastapi' in sys.modules, set_gateway_uri.__module__)\n"
    )
    assert run(code) == ["[]", "True mlflow.gateway.utils"]


@pytest.mark.first_case
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_list_of_the_commands_imports_no_models_of_a_configuration(option: str) -> None:
    assert unused([option], UNUSED | {"pydantic", "numpy", "duckdb"}) == "[]"


@pytest.mark.slow
def test_where_scipy_keeps_its_functions_elsewhere_the_whole_of_it_is_imported() -> None:
    code = (
        "import builtins, sys\n"
        "real = builtins.__import__\n"
        "def without(name, *rest, **more):\n"
        "    if name == 'scipy.special._ufuncs':\n        raise ImportError(name)\n"
        "    return real(name, *rest, **more)\n"
        "from ndcg_ab.flows.cli.base_command import import_without_extras\n"
        "builtins.__import__ = without\n"
        "import_without_extras()\n"
        "assert not [name for name in sys.modules if name.startswith('scipy.special')]\n"
        "from ndcg_core.statistics import distributions\n"
        "print('scipy.special' in sys.modules, distributions.ndtr(0.0))\n"
    )
    assert run(code) == ["True 0.5"]


def test_every_command_looks_for_circles_less_often() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        assert invoke(["check", "nowhere.yaml"]).exit_code == 2
        assert gc.get_threshold() == (50_000, 10, 10)
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("given", [None, "3"])
def test_the_commands_leave_no_threads_of_blas_waiting_and_look_for_no_plugins(given: str | None) -> None:
    """What the user says holds. numpy and pydantic read the variables when they are imported, which is later."""
    usual = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
    own = {name: value for name, value in os.environ.items() if name not in usual}
    own |= dict.fromkeys(usual, given) if given else {}
    read = "; ".join(f"print(os.environ[{name!r}])" for name in usual)
    code = f"import os, sys, ndcg_ab.flows.cli.main; {read}; print({{'numpy', 'pydantic'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [*((given,) * 2 if given else usual.values()), "set()"]
