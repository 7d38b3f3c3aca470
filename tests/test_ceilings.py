"""The size of the house only falls: `ceilings.toml` says how large it may be.

``python -m tests.test_ceilings`` prints the sizes of now.
"""

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.ceilings import CEILINGS
from tests.paths import ROOT

LOOSE = 0.02  # of a ceiling may be free
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PRODUCT = ("ndcg_ab", "ndcg_core", "flows")
PAGES = ("docs/*.md", "docs/tutorials/*.md", "*.md", "configs/*.md")


def files_below(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def count_lines(text: str) -> int:
    """Return the number of lines of a module without those of its docstrings."""
    count = len(text.splitlines())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            said = node.body[0]
            count -= (said.end_lineno or said.lineno) - said.lineno + 1
    return count


def find_records(texts: Iterable[str]) -> set[str]:
    """Return the names of the classes that only hold values: by their decorator, or by what they are derived from."""
    classes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    records = {node.name for node in classes if any("dataclass" in ast.unparse(each) for each in node.decorator_list)}
    kinds, before = {"NamedTuple", "TypedDict", "BaseModel"}, 0
    while before != len(kinds):
        before = len(kinds)
        kinds |= {node.name for node in classes if kinds & {ast.unparse(base) for base in node.bases}}
    return (records | kinds) - {"NamedTuple", "TypedDict", "BaseModel"}


def measure_sizes() -> Iterator[tuple[str, int]]:
    """Yield the name and the value of each size that has a ceiling."""
    product = [path.read_text(encoding="utf-8") for path in files_below(*PRODUCT)]
    yield "product_lines", sum(map(count_lines, product))
    yield "product_modules", len(product)
    yield "product_records", len(find_records(product))
    yield "sql_lines", sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob("sql/**/*.sql"))
    for name, folder in (("benchmark_lines", "benchmarks"), ("test_lines", "tests")):
        yield name, sum(count_lines(path.read_text(encoding="utf-8")) for path in files_below(folder))
    pages = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    words = {path: len(path.read_text(encoding="utf-8").split()) for path in pages}
    yield "documentation_words", sum(words.values())
    for name in ("README", "CONTRIBUTING", "docs/architecture", "docs/performance"):
        yield f"{Path(name).name.lower()}_words", words[ROOT / f"{name}.md"]


@functools.cache
def sizes() -> dict[str, int]:
    return dict(measure_sizes())


@pytest.mark.slow
@pytest.mark.parametrize("name", CEILINGS["size"])
def test_no_size_is_above_its_ceiling_and_no_ceiling_is_far_above_its_size(name: str) -> None:
    ceiling = CEILINGS["size"][name]
    assert sizes()[name] <= ceiling, f"{name}: what can go instead?"
    assert sizes()[name] >= ceiling * (1 - LOOSE), f"{name}: take its ceiling down to {sizes()[name]}"


def test_docstrings_are_not_counted() -> None:
    assert count_lines('"""A module.\n\nIn three lines.\n"""\n\n\ndef f():\n    """Do it."""\n    return "a"\n') == 4


def test_records_are_found_by_what_they_are_derived_from() -> None:
    texts = ["class Base(BaseModel): a: int", "class Place(Base): b: int", "class Work: pass"]
    assert find_records([*texts, "@dataclass(frozen=True)\nclass Row: c: int"]) == {"Base", "Place", "Row"}


if __name__ == "__main__":
    for name, size in sizes().items():
        print(f"{name} = {size:_}")
