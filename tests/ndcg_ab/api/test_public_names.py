"""`import ndcg_ab`: every public name, and nothing loaded before it is asked for."""

import doctest
import subprocess
import sys
import warnings
from importlib import import_module

import pytest

import ndcg_ab
from tests.paths import ROOT

HEAVY = {"duckdb", "scipy", "numpy", "pyarrow", "pydantic", "mlflow", "prefect", "rich", "pandas", "polars"}


@pytest.mark.parametrize("name", sorted(set(ndcg_ab.__all__) - {"__version__"}))
def test_a_public_name_is_that_of_its_module(name: str) -> None:
    assert getattr(ndcg_ab, name) is getattr(import_module(ndcg_ab._HOME[name]), name)
    assert name in dir(ndcg_ab)


def test_the_lists_of_names_agree() -> None:
    assert set(ndcg_ab.__all__) == {*ndcg_ab._HOME, "__version__"}
    with pytest.raises(AttributeError, match="module 'ndcg_ab' has no attribute 'nothing'"):
        _ = ndcg_ab.nothing


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


@pytest.mark.slow
def test_the_example_in_the_docstring() -> None:
    found = doctest.testmod(ndcg_ab)
    assert (found.failed, found.attempted > 0) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["ndcg_ab", "ndcg_ab.testing", "ndcg_core"])
def test_the_reference_shows_every_public_name(package: str) -> None:
    from pdoc.doc import Module

    module = import_module(package)
    names = set(module.__all__) - {"__version__"}
    assert all(hasattr(module, name) for name in names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what a reference could not resolve
        shown = Module(module).members
    assert names <= set(shown)
    assert [name for name in sorted(names) if callable(getattr(module, name)) and not shown[name].docstring] == []
