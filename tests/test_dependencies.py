"""The dependencies, audited from what the installed packages say of themselves: no service is asked."""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OURS = ("ndcg_ab", "ndcg_core", "flows", "tests")
# Licences under which a company may use, change and pass on what it installs, as the metadata spell them.
FREE = re.compile(
    r"Apache|\b0?BSD|\bMIT\b|\bISC\b|\bPSF|Python Software Foundation|CNRI-Python|\bMPL|Mozilla Public|Zlib|CC0|"
    r"Unlicense|Artistic License|OSI Approved|HPND",
    re.IGNORECASE,
)
COPYLEFT = re.compile(r"\b[AL]?GPL|GNU (Affero|Lesser|General)", re.IGNORECASE)
UNSAID = {"huey": "MIT"}  # metadata without a licence: what the file LICENSE of the package says
BELONGING = {"pydantic_core": ["pydantic"]}  # modules of packages that others bring and document as their own
OPTIONAL = {"pandas"}  # made only for those who have it


def closure(*names: str, extras: tuple[str, ...] = ()) -> dict[str, Distribution]:
    """Return the installed distributions of these names and all that they need; extras: of the distributions named."""
    found: dict[str, Distribution] = {}
    visited = set()
    waiting = [(name, extras) for name in names]
    while waiting:
        name, extras = waiting.pop()
        if (canonicalize_name(name), extras) in visited:
            continue
        visited.add((canonicalize_name(name), extras))
        try:
            found[canonicalize_name(name)] = distribution(name)
        except PackageNotFoundError:
            continue
        waiting += [(each.name, tuple(sorted(each.extras))) for each in needed_by(distribution(name), extras)]
    return found


def needed_by(installed: Distribution, extras: tuple[str, ...] = ()) -> Iterator[Requirement]:
    for text in installed.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


OUR_EXTRAS = set(distribution("ndcg-ab").metadata.get_all("Provides-Extra") or ()) - {"test"}


@functools.cache
def needed() -> dict[str, Distribution]:
    return closure("ndcg-ab", extras=tuple(sorted(OUR_EXTRAS)))


def of_others() -> list[str]:
    return sorted(set(needed()) - {"ndcg-ab"})


def licences_of(installed: Distribution) -> list[str]:
    metadata = installed.metadata
    name = canonicalize_name(metadata["Name"])
    if expression := metadata.get("License-Expression"):
        return [expression]
    classifiers = [
        entry.rpartition("::")[2].strip()
        for entry in metadata.get_all("Classifier") or ()
        if entry.startswith("License ::")
    ]
    stated = metadata.get("License")
    return classifiers or [stated.partition("\n")[0] if stated else UNSAID.get(name, "none is stated")]


@pytest.mark.slow
def test_what_is_installed_may_be_used() -> None:
    """Under a free licence, and not only under one that binds what is built upon it; not given up by its authors."""
    stated = {name: licences_of(needed()[name]) for name in of_others()}
    refused = {
        name: licences
        for name, licences in stated.items()
        if not any(FREE.search(licence) and not COPYLEFT.search(licence) for licence in licences)
    }
    assert not refused
    inactive = "Development Status :: 7 - Inactive"
    assert [name for name in of_others() if inactive in (needed()[name].metadata.get_all("Classifier") or ())] == []


@pytest.mark.slow
def test_what_is_installed_fits_together() -> None:
    """Every version is one that all who need it take, and is made for this Python."""
    versions = {name: needed()[name].version for name in of_others()}
    unfit = [
        f"{other} needs {requirement}, and {versions[name]} is installed"
        for other, needing in needed().items()
        for requirement in needed_by(needing)
        if (name := canonicalize_name(requirement.name)) in versions
        and not requirement.specifier.contains(versions[name], prereleases=True)
    ]
    assert unfit == []
    python = ".".join(map(str, sys.version_info[:3]))
    needs = {name: needed()[name].metadata.get("Requires-Python") or "" for name in of_others()}
    assert {name: need for name, need in needs.items() if not SpecifierSet(need).contains(python)} == {}


def test_ci_installs_the_versions_that_are_pinned() -> None:
    pinned = dict(
        line.strip().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert {canonicalize_name(name) for name in pinned} >= set(of_others())
    unlike = {
        name: (installed.version, pinned[name])
        for installed in distributions()
        if (name := canonicalize_name(installed.metadata["Name"])) in pinned and installed.version != pinned[name]
    }
    assert not unlike, "the environment holds other versions than constraints.txt: make clean, and try again"


@pytest.mark.slow
def test_everything_imported_is_declared_with_its_lowest_version() -> None:
    declared = {}
    for text in distribution("ndcg-ab").requires or ():
        requirement = Requirement(text)
        declared[canonicalize_name(requirement.name)] = requirement.specifier
    of_modules = {**packages_distributions(), **BELONGING}
    undeclared = {
        f"{path.relative_to(ROOT)} imports {module}"
        for folder in ("ndcg_ab", "ndcg_core", "flows")
        for path in (ROOT / folder).rglob("*.py")
        for module in imported(path)
        if module not in OPTIONAL
        and not {canonicalize_name(name) for name in of_modules.get(module, ())} & declared.keys()
    }
    assert not undeclared
    without = [
        name
        for name, versions in declared.items()
        if not any(each.operator == ">=" for each in versions) and not name.startswith("types-") and name != "ndcg-ab"
    ]
    assert not without


def imported(path: Path) -> set[str]:
    """The top-level modules of others that a file imports."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    tops = {name.partition(".")[0] for name in found}
    return tops - sys.stdlib_module_names - set(OURS)
