"""`import ndcg_core`: every public name, and nothing loaded before it is asked for."""

import doctest
import subprocess
import sys
from importlib import import_module

import pytest

import ndcg_core
from tests.paths import ROOT


@pytest.mark.parametrize("name", ndcg_core.__all__)
def test_a_public_name_is_that_of_its_module(name: str) -> None:
    home = import_module(f"ndcg_core.{ndcg_core._HOME[name]}")
    assert getattr(ndcg_core, name) is getattr(home, name)
    assert name in dir(ndcg_core)


def test_the_lists_of_names_agree() -> None:
    assert set(ndcg_core.__all__) == set(ndcg_core._HOME)
    with pytest.raises(AttributeError, match="module 'ndcg_core' has no attribute 'nothing'"):
        _ = ndcg_core.nothing


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


@pytest.mark.parametrize("module", ["ndcg_core", "ndcg_core.measures.notation"])
def test_the_examples_in_docstrings(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert (found.failed, found.attempted > 0) == (0, True)
