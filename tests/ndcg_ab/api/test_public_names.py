"""`import ndcg_ab` and `import ndcg_core`: every public name, and nothing loaded before it is needed."""

import doctest
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import ndcg_ab
import ndcg_core
from docs.docstrings import find_violations
from tests.paths import ROOT

HEAVY = {"duckdb", "scipy", "numpy", "pyarrow", "pydantic", "mlflow", "prefect", "rich", "pandas", "polars"}

HOMES = {  # a public name -> its module
    **{f"ndcg_ab.{name}": home for name, home in ndcg_ab._HOME.items()},
    **{f"ndcg_core.{name}": f"ndcg_core.{home}" for name, home in ndcg_core._HOME.items()},
}


@pytest.mark.parametrize("public", HOMES)
def test_a_public_name_is_that_of_its_module(public: str) -> None:
    package, _, name = public.partition(".")
    module = import_module(package)
    assert getattr(module, name) is getattr(import_module(HOMES[public]), name)
    assert name in dir(module)


@pytest.mark.parametrize("package", [ndcg_ab, ndcg_core])
def test_the_lists_of_names_agree(package: ModuleType) -> None:
    assert {*package.__all__} - {"__version__"} == {*package._HOME}
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import ndcg_core", set()),
        ("import ndcg_core; ndcg_core.parse('ndcg@10').name", set()),  # measures are plain Python
        ("import ndcg_core; ndcg_core.compare_family", {"numpy", "scipy"}),
    ],
)
def test_numpy_and_scipy_are_loaded_when_they_are_needed(code: str, loaded: set[str]) -> None:
    code += "\nimport sys; print(sorted({'numpy', 'scipy', 'scipy.stats'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == str(sorted(loaded))


@pytest.mark.slow
def test_the_import_loads_nothing_and_a_comparison_no_platform() -> None:
    code = (
        "import sys, ndcg_ab\n"
        f"print(sorted({HEAVY} & set(sys.modules)))\n"
        "ndcg_ab.compare({'q': {'a': 1}}, {'x': {'q': {'a': 1.0}}})\n"
        "print(sorted({'prefect', 'mlflow', 'typer'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize(
    "module", ["ndcg_core", "ndcg_core.measures.notation", pytest.param("ndcg_ab", marks=pytest.mark.slow)]
)
def test_the_examples_in_docstrings(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert (found.failed, found.attempted > 0) == (0, True)


@pytest.mark.parametrize(
    ("entry", "other", "rule"),
    [
        ("    alpha : float, default 0.05\n        Level of the two-sided test, in (0, 1).\n", "", "DOC101"),
        ("    alpha: float = 0.05", "    level: float = 0.05", "DOC103"),
        ("    ValueError\n        If", "    TypeError\n        If", "DOC503"),
    ],
)
def test_a_docstring_that_differs_from_its_function_is_found(entry: str, other: str, rule: str) -> None:
    text = (ROOT / "ndcg_core" / "statistics" / "estimates" / "power.py").read_text(encoding="utf-8")
    assert f" {rule}: " in "".join(find_violations(text.replace(entry, other, 1)))
