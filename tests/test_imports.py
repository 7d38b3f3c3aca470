"""Who may import whom (docs/architecture.md): read from every import, at the top, inside functions, for types alone.

The rules are functions over {module name: source}; every one of them is shown a fault, and sees it.
"""

import ast
import functools
import graphlib
import sys
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.paths import ROOT
from tests.test_ceilings import count_lines

FOLDERS = {"ndcg_core": "ndcg_core", "ndcg_ab": "ndcg_ab", "flows": "ndcg_ab.flows"}  # folder -> package
LAYERS = (  # imports go down only; packages of one line do not know each other
    ("flows",),
    ("testing",),
    ("api", "runs"),
    ("trackers",),
    ("report",),
    ("studies", "history", "warehouse"),
    ("pipeline",),
    ("labels",),
    ("comparing",),
    ("checks",),
    ("scoring",),
    ("results",),
    ("sources",),
    ("extensions",),
    ("config", "engines"),
    ("memory", "other_measures", "full_disks", "thresholds"),
    ("temporary",),
    ("files",),
    ("errors", "finding_codes", "deadlines", "visible"),
)
DEPTH = {package: depth for depth, packages in enumerate(LAYERS) for package in packages}
CORE_MAY_IMPORT = {"ndcg_core", "numpy", "scipy", "threadpoolctl"}
DOORS = {  # library -> the packages and modules that may import it
    "typer": ("ndcg_ab.flows.cli",),
    "prefect": (
        *("ndcg_ab.flows.evaluation", "ndcg_ab.flows.observed", "ndcg_ab.flows.schedules"),
        "ndcg_ab.config.secrets.lookup",
    ),
    "mlflow": ("ndcg_ab.trackers.mlflow",),
    "duckdb": ("ndcg_ab.engines.duckdb",),
    "adbc_driver_manager": ("ndcg_ab.sources.database_query",),
    "ir_measures": ("ndcg_ab.other_measures",),
    "httpx": ("ndcg_ab.sources.http.client", "ndcg_ab.sources.files.stores"),
    "jinja2": ("ndcg_ab.report",),
    "jmespath": ("ndcg_ab.sources.http.exchange",),
    "rich": ("ndcg_ab.report", "ndcg_ab.flows.cli.console"),
    "pandas": ("ndcg_ab.api.results",),
    "polars": ("ndcg_ab.api.results",),
    "pyspark": ("ndcg_ab.engines.spark",),
    "pytest": ("ndcg_ab.testing.plugin",),
    "sqlglot": ("ndcg_ab.engines.dialects",),
    "tempfile": ("ndcg_ab.temporary",),
}
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
Sources = Mapping[str, str]


@functools.cache
def sources() -> dict[str, str]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = [package, *path.relative_to(ROOT / folder).with_suffix("").parts]
            found[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


# ---- what a module imports


@functools.cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@functools.cache
def import_statements(text: str) -> list[ast.stmt]:
    """Every import of a module, at the top and inside of functions."""
    return [node for node in ast.walk(parsed(text)) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(name: str, text: str, known: Sources) -> Iterator[str]:
    """The full names of what a module imports: of modules where they are known, else of names in them."""
    is_package = any(other.startswith(f"{name}.") for other in known)
    for node in import_statements(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                above = parts[: len(parts) - node.level + is_package]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}"


def modules_imported(name: str, known: Sources) -> Iterator[str]:
    """Modules of ours that a module imports.

    The version is the one name of the package `ndcg_ab` that its own modules may take from it.
    """
    for full in imported(name, known[name], known):
        if full == "ndcg_ab.__version__":
            continue
        found = next((part for part in (full, full.rpartition(".")[0]) if part in known), None)
        if found is not None and found != name:
            yield found


def layer(name: str) -> str | None:
    """The layer of a module of `ndcg_ab`; None for the package itself and for other packages."""
    package, _, rest = name.partition(".")
    return (rest.partition(".")[0] or None) if package == "ndcg_ab" else None


def is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


# ---- the rules: each yields what is wrong


def find_upward(known: Sources) -> Iterator[str]:
    """Within `ndcg_ab` imports go down, and `ndcg_core` knows nobody."""
    for name in known:
        here = layer(name)
        for other in modules_imported(name, known):
            there = layer(other)
            if name.startswith("ndcg_core"):
                if not other.startswith("ndcg_core"):
                    yield f"{name} imports {other}"
            elif (here is not None and other == "ndcg_ab") or (
                here is not None and there is not None and here != there and DEPTH[here] >= DEPTH[there]
            ):
                yield f"{name} imports {other}"


def find_unlayered(known: Sources) -> Iterator[str]:
    for name in known:
        if layer(name) not in (None, *DEPTH):
            yield name


def find_mixed(known: Sources) -> Iterator[str]:
    """Measures and statistics do not know each other, and need numpy and scipy alone."""
    apart = {"ndcg_core.measures": "ndcg_core.statistics", "ndcg_core.statistics": "ndcg_core.measures"}
    for name in known:
        if not name.startswith("ndcg_core"):
            continue
        for full in imported(name, known[name], known):
            top = full.partition(".")[0]
            if top not in CORE_MAY_IMPORT | set(sys.stdlib_module_names):
                yield f"{name} imports {top}"
            if full.startswith("scipy.stats"):
                yield f"{name} imports scipy.stats, which is slow to import"
        for half, other in apart.items():
            if is_within(name, (half,)):
                yield from (f"{name} imports {found}" for found in modules_imported(name, known) if other in found)


def find_bypassed(known: Sources) -> Iterator[str]:
    for name in known:
        for full in imported(name, known[name], known):
            library = full.partition(".")[0]
            if library in DOORS and not is_within(name, DOORS[library]):
                yield f"{name} imports {library}"


def find_styles(known: Sources) -> Iterator[str]:
    """Prefect loads a flow's file by its path too: inside `flows` imports of `flows` are relative, no others are."""
    for name in known:
        for node in ast.walk(parsed(known[name])):
            if isinstance(node, ast.ImportFrom):
                inside = is_within(name, ("ndcg_ab.flows",))
                if node.level and not inside:
                    yield f"{name}: a relative import"
                if inside and not node.level and is_within(node.module or "", ("ndcg_ab.flows", "flows")):
                    yield f"{name}: from {node.module}"


def runs_in_a_circle(known: Sources) -> Iterator[str]:
    """Yield the modules of a circle, the first that is found."""
    try:
        graphlib.TopologicalSorter({name: set(modules_imported(name, known)) for name in known}).prepare()
    except graphlib.CycleError as error:
        yield " and ".join(dict.fromkeys(error.args[1]))


def is_too_long(known: Sources) -> Iterator[str]:
    """Yield modules and functions with too many lines beside docstrings; a command has an argument for every option."""
    for name, text in known.items():
        if count_lines(text) > LONGEST_MODULE:
            yield name
        if is_within(name, ("ndcg_ab.flows.cli",)):
            continue
        for node in ast.walk(parsed(text)):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            is_long = is_function and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
            if is_long and count_lines(ast.get_source_segment(text, node) or "") > LONGEST_FUNCTION:
                yield f"{name}.{node.name}"


def postpones_annotations(known: Sources) -> Iterator[str]:
    """Prefect cannot resolve them in a served flow's parameters."""
    for name, text in known.items():
        if any(full == "__future__.annotations" for full in imported(name, text, known)):
            yield name


RULES: tuple[Callable[[Sources], Iterator[str]], ...] = (
    find_upward,
    find_unlayered,
    find_mixed,
    find_bypassed,
    find_styles,
    runs_in_a_circle,
    is_too_long,
    postpones_annotations,
)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_module(rule: Callable[[Sources], Iterator[str]]) -> None:
    assert list(rule(sources())) == []


def test_every_module_is_looked_at() -> None:
    found = sources()
    assert {"ndcg_core", "ndcg_ab", "ndcg_ab.flows.cli.app", "ndcg_ab.report.terminal.grid"} <= found.keys()
    assert "ndcg_ab.flows.evaluation" in set(modules_imported("ndcg_ab.flows.schedules", found)), "a relative import"
    assert "ndcg_ab.history.database" in set(modules_imported("ndcg_ab.report.bundle_files", found)), "from a package"


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * LONGEST_FUNCTION
TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
FAULTS: list[tuple[Callable[[Sources], Iterator[str]], dict[str, str], str]] = [
    (find_upward, {"ndcg_ab.history.a": "from ndcg_ab.report import b", "ndcg_ab.report.b": ""}, "ndcg_ab.report.b"),
    (find_upward, {"ndcg_ab.scoring.a": f"{TYPES}import ndcg_ab.report.b", "ndcg_ab.report.b": ""}, "ndcg_ab.report.b"),
    (find_upward, {"ndcg_ab.errors": "from ndcg_ab.files import b", "ndcg_ab.files": ""}, "ndcg_ab.files"),
    (find_upward, {"ndcg_ab": "", "ndcg_ab.sources.a": "from ndcg_ab import compare"}, "imports ndcg_ab"),
    (find_upward, {"ndcg_core.a": "import ndcg_ab.errors", "ndcg_ab.errors": ""}, "ndcg_ab.errors"),
    (find_unlayered, {"ndcg_ab.utils": ""}, "ndcg_ab.utils"),
    (find_mixed, {"ndcg_core.measures.a": "import pandas"}, "pandas"),
    (find_mixed, {"ndcg_core.statistics.a": "from scipy import stats"}, "scipy.stats"),
    (
        find_mixed,
        {"ndcg_core.statistics.a": "from ndcg_core.measures.b import c", "ndcg_core.measures.b": ""},
        "ndcg_core.measures.b",
    ),
    (find_bypassed, {"ndcg_ab.sources.spark_tables": "def f():\n    from pyspark.sql import types"}, "pyspark"),
    (find_bypassed, {"ndcg_ab.flows.events": "from prefect import task"}, "prefect"),
    (find_bypassed, {"ndcg_ab.flows.cli.app": "import mlflow.data"}, "mlflow"),
    (find_styles, {"ndcg_ab.report.a": "from . import b", "ndcg_ab.report.b": ""}, "ndcg_ab.report.a"),
    (find_styles, {"ndcg_ab.flows.a": "from ndcg_ab.flows.b import c"}, "ndcg_ab.flows.b"),
    (
        runs_in_a_circle,
        {
            "ndcg_ab.flows": "",
            "ndcg_ab.flows.a": "from .b import x",
            "ndcg_ab.flows.b": "def f():\n    from . import c",
            "ndcg_ab.flows.c": f"{TYPES}from .a import x",
        },
        "ndcg_ab.flows.c",
    ),
    (is_too_long, {"ndcg_core.a": "x = 1\n" * (LONGEST_MODULE + 1)}, "ndcg_core.a"),
    (is_too_long, {"ndcg_core.a": f"async {LONG_FUNCTION}"}, "ndcg_core.a.f"),
    (postpones_annotations, {"ndcg_ab.errors": "from __future__ import annotations"}, "ndcg_ab.errors"),
]


@pytest.mark.parametrize(("rule", "known", "said"), FAULTS)
def test_a_fault_is_noticed(rule: Callable[[Sources], Iterator[str]], known: dict[str, str], said: str) -> None:
    (found,) = rule(known)
    assert said in found


def test_every_rule_is_shown_a_fault() -> None:
    assert {rule for rule, _, _ in FAULTS} == set(RULES)
