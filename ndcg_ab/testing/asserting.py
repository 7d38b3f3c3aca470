"""Define `assert_not_worse`, which fails a test if a ranking got worse, and rankings stored as baselines of tests.

A baseline is a ranking file in TSV with the columns query_id, doc_id and rank: the top ranks of every answered query,
down to the metrics' depth. Scores are not stored, and queries and ranks are sorted, so that a change of the
ranker changes only the lines of the affected queries. The depth is part of the name:
``shop.top10.tsv``; ``shop.tsv`` holds complete rankings. Beside it, ``shop.top10.tsv.sha256`` holds the number of rows
and the SHA-256 digest, because a damaged baseline must not decide whether a test passes.
"""

import csv
import dataclasses
import hashlib
import inspect
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.api.arguments import Data, as_configured, make_evaluation
from ndcg_ab.api.comparing import compare
from ndcg_ab.api.results import CompareResult
from ndcg_ab.config.loading.hints import closest_hint
from ndcg_ab.config.model.by_metric import ALL
from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.files import replace_atomically
from ndcg_ab.results.decisions import NO_REGRESSION, measured_state
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, queries_text
from ndcg_ab.sources import RANKING, pull_source
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.files.file import read_file, refuse_unreadable_file
from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.visible import visible
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import canonical_name, translate
from ndcg_core.measures.score import Result, order_results
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import format_distinct_effect

LARGE = "large_difference"  # the finding about a margin that next to nothing fails
LOST = 10  # queries that a failure names
BASELINE, CANDIDATE = "baseline", "candidate"
UNDECIDED: list[str] = []  # what the comparisons that passed leave open; pytest's summary takes it from here
Margin = float | Mapping[Any, float]
COLUMNS = ("query_id", "doc_id", "rank")
CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")
COMPARED_ONLY = ("margin", "gate", "smallest_effect", "all_pairs")  # options that need two systems
NAME = re.compile(r"[\w-][\w.-]*")
RankedRow = tuple[str, str, int]  # query_id, doc_id, rank


def assert_not_worse(
    judgments: Data,
    baseline: Data,
    candidate: Data,
    *,
    metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
    margin: Margin | None = None,
    gate: Mapping[str, Any] | None = None,
    **options: Any,
) -> CompareResult:
    """Fail if a candidate ranking is worse than a baseline, else return the comparison.

    A "dataset" is a path, a table with the Arrow PyCapsule interface (pandas, polars, pyarrow, DuckDB), or nested
    dictionaries or lists as in docs/python.md.

    Parameters
    ----------
    judgments : dataset
        Grades by query and document.
    baseline : dataset
        Ranking of the accepted version.
    candidate : dataset
        Ranking of the new version.
    metrics : str, Metric, or sequence of them, default ("ndcg@10",)
        Metrics that must not be worse, unless `primary_metrics` or `secondary_metrics` among the options assign roles.
    margin : float, or mapping of metric to float, optional
        None: the test fails if a regression is shown on a metric. A number > 0, in the unit of the metric: the test
        fails unless it is shown for every metric that the candidate is not worse by that much; smaller regressions
        pass. A mapping gives such margins for single metrics.
    gate : mapping, optional
        Further conditions, as under `gate:` in a configuration (docs/gates.md).
    **options
        Further arguments of `ndcg_ab.compare`. Guardrails must be shown to hold.

    Returns
    -------
    CompareResult
        The comparison, if the test passes.

    Raises
    ------
    AssertionError
        If the candidate is worse; the message has the answer and the queries that lost most.
    InputError
        If an argument or the data are invalid.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
    """
    __tracebackhide__ = True
    refuse_unknown_arguments(options)
    systems = {BASELINE: baseline, CANDIDATE: candidate}
    return compare_with_gate(judgments, systems, {"metrics": metrics, "margin": margin, "gate": gate, **options})


def refuse_unknown_arguments(options: Mapping[str, Any]) -> None:
    """Raise TypeError for an argument that `compare` lacks, and InputError if the argument `scores` is given."""
    __tracebackhide__ = True
    if options.get("scores") is not None:
        raise InputError(
            "scores: assert_not_worse needs judgments and rankings, which scores of another tool do not hold; compare"
            " them with ndcg_ab.compare(scores=..., gate=True), and look at its gates"
        )
    names = list(inspect.signature(compare).parameters)
    for name in options:
        if name not in names:
            raise TypeError(
                f"assert_not_worse() got an unexpected keyword argument {name!r}{closest_hint(name, names)}"
            )


def compare_with_gate(judgments: Data, systems: Mapping[str, Data], options: Mapping[str, Any]) -> CompareResult:
    """Compare a baseline and a candidate; raise AssertionError if the comparison fails a condition of the gate.

    systems: {"baseline" or the name of a stored baseline: ranking, "candidate": ranking}. options: the arguments of
    `assert_not_worse`. An InputError is raised without the frames of this package, so that pytest shows the line of the
    test. Sentences about metrics that stay undecided are added to `UNDECIDED`.
    """
    __tracebackhide__ = True
    try:
        result = compare(judgments, systems, **compare_arguments(options))
    except InputError as error:
        raise error.with_traceback(None) from error.__cause__
    for finding in result.findings:
        if finding.code == LARGE:
            warnings.warn(finding.message, stacklevel=3)
    if failed := [f"{gate.name}: {gate.message}" for gate in result.gates if not gate.passed]:
        raise AssertionError(visible("\n".join(["; ".join(failed), *format_failure(result)])))
    UNDECIDED.extend(map(visible, format_undecided(result)))
    return result


def format_undecided(result: CompareResult) -> Iterator[str]:
    """Yield a sentence for each metric on which the comparison passed undecided.

    A sentence is such as ``ndcg@5 undecided (-0.0310): 20 queries find only …``. Metrics with a margin are left out,
    because a margin must be proven. Metrics on which the queries would have detected the smallest effect are left out,
    too.
    """
    proven = {row.metric for row in result.comparisons if row.family in (GUARDRAILS, GATE)}
    is_asked = any(gate.name == NO_REGRESSION for gate in result.gates)
    for row in result.comparisons if is_asked else ():
        if row.family != PRIMARY or not measured_state(row).is_undecided or row.metric in proven:
            continue
        if row.mde is None:
            yield f"{row.metric} {row.verdict}"
        elif row.smallest_effect is None or row.mde > row.smallest_effect:
            is_possible = row.largest_loss is None or row.mde <= row.largest_loss
            least = f"find only differences of {format_distinct_effect(row.mde)} or more"
            least = least if is_possible else "can find no difference"
            yield f"{row.metric} undecided ({signed(row.difference)}): {queries_text(row.queries)} {least}"


def compare_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for `compare`, made from the arguments of `assert_not_worse`.

    Margins and conditions become the argument `gate`. Raises InputError for a gate or margin that is not allowed.
    """
    arguments = {name: value for name, value in options.items() if name != "margin"}
    metrics = [canonical_metric_name(name) for name in as_configured("metrics", options["metrics"])]
    margins = parse_margins(options["margin"], metrics)
    gate = options["gate"]
    if gate is not None and not isinstance(gate, Mapping):
        raise InputError(f"gate = {format_value(gate)}: must be a mapping, such as {{'judged': 0.8}}")
    if margins and gate and "not_worse" in gate:
        raise InputError("margin and gate['not_worse']: both say by how much the candidate may be worse; give one")
    conditions: dict[str, Any] = {"no_regression": not set(metrics) <= set(margins)}
    if margins or options.get("guardrails"):
        conditions |= {"proof": True, "not_worse": margins}
    roles = {} if options.get("primary_metrics") or options.get("secondary_metrics") else {"primary_metrics": ALL}
    return arguments | roles | {"gate": conditions | dict(gate or {})}


def parse_margins(margin: Margin | None, metrics: Sequence[str]) -> dict[str, float]:
    """Return the margin of each metric, or an empty mapping if `margin` is None.

    A single number is the margin of all `metrics`. Raises InputError if a margin is no number above 0.
    """
    if margin is None:
        return {}
    margins = as_configured("guardrails", margin if isinstance(margin, Mapping) else dict.fromkeys(metrics, margin))
    for number in margins.values():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not 0 < number < math.inf:
            raise InputError(
                f"margin = {format_value(margin)}: must be a number above 0, or map metrics to such numbers"
            )
    return {canonical_metric_name(name): number for name, number in margins.items()}


def canonical_metric_name(name: Any) -> Any:
    """Return the canonical name of a metric; a value other than a text is returned unchanged."""
    return canonical_name(translate(name)) if isinstance(name, str) else name


def format_failure(result: CompareResult) -> Iterator[str]:
    """Yield the lines of the report without its gates, then the queries that lost most on the first failed metric."""
    lines = str(result).splitlines()
    yield from ("", *(line for line in lines if not line.startswith("gate ")))
    worst = next((row for row in result.comparisons if fails_gate(row)), result.comparison())
    lost = result.losses(worst.candidate, worst.metric, most=LOST)
    if lost:
        yield f"\nthe {queries_text(len(lost))} that lost most, {worst.metric}"
    for row in lost:
        yield f"  {signed(row.difference)}  {row.query_id}  {row.text or ''}".rstrip()


def fails_gate(row: Comparison) -> bool:
    """Return whether a comparison fails its gate: a margin is not proven, or a primary metric regressed."""
    if row.family in (GUARDRAILS, GATE):
        return row.conclusion.fails_margin
    return row.family == PRIMARY and measured_state(row).is_harm


class RankingBaseline:
    """A ranking that a test stores as a file in the repository and compares candidates with.

    Parameters
    ----------
    name : str
        Name of the baseline; letters, digits, ``_``, ``-`` and ``.`` only.
    directory : Path
        Folder of the baseline files.
    root : Path
        Root of the test suite. File names in messages are relative to it.
    test : str
        Id of the test, for the command in messages that writes the baseline again.
    is_updated : bool
        True if the candidate replaces the baseline, as with ``pytest --update-rankings``.

    Attributes
    ----------
    written : list of str
        Files written so far, relative to `root`.

    Raises
    ------
    InputError
        If the name is not allowed.
    """

    def __init__(self, name: str, directory: Path, root: Path, test: str, *, is_updated: bool) -> None:
        __tracebackhide__ = True
        if not NAME.fullmatch(name) or name == CANDIDATE:
            rule = "consist of letters, digits, '_', '-' and '.'" if name != CANDIDATE else "be another word"
            raise InputError(f"ranking_baseline: name = {name!r}: must {rule}")
        self.name, self.directory, self.root = name, directory, root
        self.test, self.is_updated = test, is_updated
        self.written: list[str] = []

    def assert_not_worse(
        self,
        judgments: Data,
        candidate: Data,
        *,
        metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
        margin: Margin | None = None,
        gate: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> CompareResult:
        """Fail if a candidate ranking is worse than the baseline in the repository, else return the comparison.

        With ``pytest --update-rankings`` nothing is compared: the candidate is stored as the new baseline, and the
        result has the values of the candidate alone.

        Parameters
        ----------
        judgments : dataset
            Grades by query and document: a path, an Arrow table, or nested dictionaries or lists.
        candidate : dataset
            Ranking of the new version.
        metrics : str, Metric, or sequence of them, default ("ndcg@10",)
            Metrics that must not be worse.
        margin : float, or mapping of metric to float, optional
            None: the test fails if a regression is shown. A number > 0, in the unit of the metric: the test fails
            unless it is shown that the candidate is not worse by that much.
        gate : mapping, optional
            Further conditions, as under `gate:` in a configuration (docs/gates.md).
        **options
            Further arguments of `ndcg_ab.compare`.

        Returns
        -------
        CompareResult
            The comparison, if the test passes.

        Raises
        ------
        AssertionError
            If the candidate is worse, a condition of `gate` is not met, or the baseline file does not exist.
        InputError
            If an argument, the data or the baseline are invalid.
        ParityError
            If the SQL and the Python implementation of a metric disagree.
        TypeError
            If `ndcg_ab.compare` has no argument of a name in `options`.
        """
        __tracebackhide__ = True
        refuse_unknown_arguments(options)
        arguments = {"metrics": metrics, "margin": margin, "gate": gate, **options}
        alone = {name: value for name, value in arguments.items() if name not in COMPARED_ONLY}
        try:
            evaluation = make_evaluation({"judgments": judgments, "systems": {CANDIDATE: candidate}, **alone})
            refuse_several_orders(evaluation.metric_list)
            depth = deepest_cutoff(evaluation.metric_list)
            path = self.path_at_depth(depth)
            if self.is_updated:
                result = compare(judgments, {CANDIDATE: candidate}, **alone)
                (system,) = evaluation.systems
                self.write(path, first_results(system, depth, evaluation.metric_list[0]))
                return result
            if not path.is_file():
                raise AssertionError(
                    f"there is no baseline {self.relative_path(path)}: make it from this ranking with:"
                    f" python -m pytest --update-rankings {self.test}"
                )
            stored = load_ranking(path, self.test)
            answered = pull_source(
                evaluation.systems[0].source, RANKING, Path(), system=evaluation.systems[0].name
            ).query_ids
        except InputError as error:
            raise error.with_traceback(None) from error.__cause__
        result = compare_with_gate(judgments, {self.name: stored, CANDIDATE: candidate}, arguments)
        if lacking := sorted(set(answered) - set(stored)):
            problem = f"lacks query {lacking[0]!r}, which the candidate answers ({len(lacking)} such)"
            raise damaged_baseline(path, problem, self.test)
        return result

    def path_at_depth(self, depth: int | None) -> Path:
        """Return the path of the baseline's file, whose name contains `depth`.

        depth: number of results of each query in the file; None: all results.
        """
        return self.directory / f"{self.name}{'' if depth is None else f'.top{depth}'}.tsv"

    def relative_path(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def write(self, path: Path, rows: Sequence[RankedRow]) -> None:
        """Write a ranking to the baseline's file, and the SHA-256 digest to a second file beside it.

        rows: (query_id, doc_id, rank), sorted by query id and rank.

        Each file is replaced completely or not at all. Nothing is written if the contents of both are unchanged. Raise
        InputError if an id has control characters.
        """
        for query_id, doc_id, _ in rows:
            if CONTROL.search(query_id + doc_id):
                raise InputError(
                    f"{path}: document {doc_id!r}, query {query_id!r}: ids must not hold control characters"
                )
        page = io.StringIO()
        csv.writer(page, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *rows])
        text = page.getvalue().encode()
        content = {digest_file_path(path): digest_text(path, text).encode(), path: text}
        if all(file.is_file() and file.read_bytes() == found for file, found in content.items()):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, found in content.items():
            with replace_atomically(file) as partial:
                partial.write_bytes(found)
        self.written.append(self.relative_path(path))


def digest_file_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def digest_text(path: Path, text: bytes) -> str:
    """Return the content of a digest file.

    It has a line with the number of rows, and a line as ``sha256sum`` writes it.

    path: the baseline's file, which the second line names.
    text: the content of the baseline's file. CRLF and LF line ends give equal digests.
    """
    text = text.replace(b"\r\n", b"\n")
    rows = text.count(b"\n") - 1
    return f"# {rows} rows\n{hashlib.sha256(text).hexdigest()}  {path.name}\n"


def damaged_baseline(path: Path, problem: str, test: str) -> InputError:
    """Return the error for a damaged baseline; its message has the command that writes the baseline again.

    path: the baseline's file. problem: what is wrong with it, in words. test: id of the test, for the command.
    """
    return InputError(f"{path}: {problem}: write it again with: python -m pytest --update-rankings {test}")


def deepest_cutoff(metrics: Sequence[Metric]) -> int | None:
    """Return the largest depth of the metrics, or None if a metric may use all results."""
    depths = [metric.depth for metric in metrics if metric.depth and metric.unjudged != "condense"]
    return max(depths) if len(depths) == len(metrics) else None


def refuse_several_orders(metrics: Sequence[Metric]) -> None:
    """Raise InputError if one stored order of documents cannot serve all metrics.

    A baseline stores ranks but no scores. It therefore cannot serve metrics that order equal scores by different rules,
    or a metric that averages over the orders of ties.
    """
    rules = {(metric.ties, metric.score_precision) for metric in metrics}
    if len(rules) > 1 or "average" in {ties for ties, _ in rules}:
        names = ", ".join(metric.name for metric in metrics)
        raise InputError(
            f"metrics: {names}: a baseline keeps one order and no scores, so ties=average and several rules for equal"
            " scores cannot be computed from it: keep a ranking with scores, and give both to assert_not_worse"
        )


def first_results(system: System, depth: int | None, metric: Metric) -> list[RankedRow]:
    """Read a system's ranking, and return its top results as (query_id, doc_id, rank), sorted by query id and rank.

    depth: number of results of each query; None for all. metric: the metric whose rule orders equal scores.
    """
    table = pull_source(system.source, RANKING, Path(), system=system.name).table
    answers: dict[str, list[Result]] = {}
    for query_id, *row in zip(
        *(table[name].to_pylist() for name in ("query_id", "doc_id", "score", "rank")), strict=True
    ):
        answers.setdefault(query_id, []).append(Result(*row))
    counting_copies_once = dataclasses.replace(metric, duplicates="first")
    return [
        (query_id, document.doc_id, rank)
        for query_id in sorted(answers)
        for rank, document in enumerate(order_results(answers[query_id], counting_copies_once)[:depth], 1)
    ]


def load_ranking(path: Path, test: str) -> dict[str, dict[str, float]]:
    """Read a baseline file and return query_id -> doc_id -> score, where the score is minus the rank.

    Raise InputError if the file is missing or too large, or does not match its digest file. `compare` gets this mapping
    instead of the path, so that options for the columns of the candidate's file do not apply to the baseline.
    """
    passage = LimitCounter(BOUNDS["baseline"], str(path))
    passage.count(size=path.stat().st_size)
    refuse_unreadable_file(path)
    beside = digest_file_path(path)
    if not beside.is_file():
        raise damaged_baseline(path, f"nothing proves that it is whole, since {beside.name} is not there", test)
    promised, found = beside.read_text("utf-8", "replace"), digest_text(path, path.read_bytes())
    if promised.strip() != found.strip():
        rows, head = (text.partition("\n")[0] for text in (found, promised))
        problem = f"was changed since it was written (has {rows.removeprefix('# ')}, its digest is that of: {head!r})"
        raise damaged_baseline(path, problem, test)
    table = read_file(path, RANKING, Reading("baseline", "delimited", delimiter="\t"))
    passage.count(rows=table.num_rows)
    ranking: dict[str, dict[str, float]] = {}
    for query_id, doc_id, rank in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True):
        ranking.setdefault(query_id, {})[doc_id] = -float(rank)
    return ranking
