"""The class `CompareResult`, which `compare` and `evaluate` return."""

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ndcg_ab.errors import InputError
from ndcg_ab.report.answer import make_answer
from ndcg_ab.report.page.data import MovedQuery, PageData, largest_moves
from ndcg_ab.report.words import deciding_interval
from ndcg_ab.results import codec
from ndcg_ab.results.change_records import RankingChanges
from ndcg_ab.results.cost_records import Costs
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.outcome import Finding, GateResult, Outcome, SystemSummary
from ndcg_core.measures.metric import Metric, nearest_hint
from ndcg_core.measures.notation import match_metric
from ndcg_core.statistics.verdicts.comparison import Comparison

if TYPE_CHECKING:
    import pandas

Kind = TypeVar("Kind")


class Records(tuple[Kind, ...]):
    """A tuple of records of one kind that can be converted into a table with a column for each field."""

    kind: type

    def __new__(cls, rows: Iterable[Kind], kind: type) -> "Records[Kind]":
        records = super().__new__(cls, rows)
        records.kind = kind
        return records

    def to_arrow(self) -> pa.Table:
        """Return the records as a pyarrow table with a column for each field."""
        return codec.records_table(self, self.kind)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the records as a pandas data frame; raise ImportError if pandas is not installed."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CompareResult:
    """The result of an evaluation: comparisons, decisions, findings and per-query values.

    The result holds copies of all data and no connection. In a notebook it displays itself, and `print` writes the
    tables of `ndcg-ab compare`.

    Attributes
    ----------
    query_scores : pyarrow.Table
        One row per (system_id, query_id, metric), with value and metric_hash.
    """

    query_scores: pa.Table
    _outcome: Outcome
    _page: PageData

    # ---- what was found

    @property
    def baseline(self) -> str:
        """The name of the system that the others are compared with."""
        return self._outcome.baseline

    @property
    def costs(self) -> Costs | None:
        """The costs of requests, such as latencies (docs/costs.md), or None if costs were not recorded."""
        return self._outcome.costs

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of the evaluation: primary metrics, then secondary metrics, then guardrails."""
        return self._outcome.metrics

    @property
    def systems(self) -> Records[SystemSummary]:
        """The means, medians, counts and shares of judged results, one record per metric and system."""
        return Records(self._outcome.systems, SystemSummary)

    @property
    def comparisons(self) -> Records[Comparison]:
        """The comparisons of all families: with the baseline, then by slice, then between pairs of systems."""
        return Records(self._outcome.comparisons, Comparison)

    @property
    def findings(self) -> Records[Finding]:
        """The problems that the data check found, the most severe first."""
        return Records(self._outcome.findings, Finding)

    @property
    def gates(self) -> Records[GateResult]:
        """The conditions of the gate and whether each one holds; empty if the evaluation has no gate."""
        return Records(self._outcome.gates, GateResult)

    @property
    def decisions(self) -> Records[Decision]:
        """The recommended decision for each candidate with reasons, in the order of the systems."""
        return Records(self._outcome.decisions, Decision)

    @property
    def summary(self) -> pa.Table:
        """The mean, differences and decision of each system, as a table with one row per system.

        The baseline comes first, then the other systems, the best decision first. The columns are `system`, `decision`,
        and for each metric `M` the mean, named `M`, and `M difference`, `M low`, `M high` and `M verdict`. The interval
        of the difference is [low, high]. The decision and the columns about the difference are null for the baseline.
        """
        answer = make_answer(self._outcome)
        rows = []
        for system, cells in answer.matrix.items():
            choice = answer.choices.get(system)
            row: dict[str, Any] = {"system": system, "decision": choice and choice.words}
            for metric, (mean, compared) in cells.items():
                interval = compared and deciding_interval(compared)
                row[metric] = mean
                row[f"{metric} difference"] = compared and compared.difference
                row[f"{metric} low"], row[f"{metric} high"] = interval or (None, None)
                row[f"{metric} verdict"] = compared and compared.verdict
            rows.append(row)
        texts = ("system", "decision", *(f"{metric.name} verdict" for metric in self.metrics))
        types = {name: pa.string() if name in texts else pa.float64() for name in rows[0]}
        return pa.Table.from_pylist(rows, schema=pa.schema(types))

    @property
    def changes(self) -> tuple[RankingChanges, ...]:
        """The changes in the top results, one record per candidate.

        The tuple is empty if there are no rankings, if another tool computed the first metric, or if there are too many
        results to compare.
        """
        return self._outcome.changes

    @property
    def is_clustered(self) -> bool:
        """Whether clusters of queries were tested as units."""
        return any(row.clusters is not None for row in self.comparisons)

    @property
    def is_weighted(self) -> bool:
        """Whether means and differences use the weights of the queries."""
        return any(system.unweighted_mean is not None for system in self.systems)

    def comparison(self, candidate: str | None = None, metric: str | Metric | None = None) -> Comparison:
        """Return the comparison of one candidate with the baseline on one metric.

        Parameters
        ----------
        candidate : str, optional
            Name of the candidate; by default the first.
        metric : str or Metric, optional
            Metric of the comparison; by default the first.

        Returns
        -------
        Comparison
            The comparison over all queries.

        Raises
        ------
        InputError
            If the candidate or the metric was not compared.
        """
        rows = self._outcome.main
        if not rows:
            raise InputError(f"candidate: there is none: {self.baseline!r} is the only system")
        names = [row.metric for row in rows]
        name = metric.name if isinstance(metric, Metric) else metric and match_metric(metric, names)
        chosen = choose_name("candidate", candidate, [row.candidate for row in rows])
        measure = choose_name("metric", name, names)
        return next(row for row in rows if (row.candidate, row.metric) == (chosen, measure))

    def losses(
        self, candidate: str | None = None, metric: str | Metric | None = None, *, most: int = 10
    ) -> tuple[MovedQuery, ...]:
        """Return the queries on which a candidate lost most against the baseline, the largest loss first.

        Parameters
        ----------
        candidate : str, optional
            Name of the candidate; by default the first.
        metric : str or Metric, optional
            Metric of the comparison; by default the first.
        most : int, default 10
            Largest number of queries to return.

        Returns
        -------
        tuple of MovedQuery
            The queries with their texts and differences; empty if the candidate lost on no query.

        Raises
        ------
        InputError
            If the candidate or the metric was not compared.
        """
        row = self.comparison(candidate, metric)
        return tuple(largest_moves(self._page, row.metric, row.candidate, most))

    def in_words(self, candidate: str | None = None) -> str:
        """Explain the comparison of one candidate with the baseline in plain words.

        The command `ndcg-ab compare --explain` prints this explanation.

        Parameters
        ----------
        candidate : str, optional
            Name of the candidate; by default the first.

        Returns
        -------
        str
            The explanation, in Markdown.

        Raises
        ------
        InputError
            If the candidate was not compared.
        """
        from ndcg_ab.report.explanations import explain_candidate
        from ndcg_ab.report.markdown import format_words

        return format_words(explain_candidate(self._outcome, self.comparison(candidate).candidate))

    # ---- as tables and files

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow table with one row per comparison.

        The columns are the decision on the candidate, and the fields of a comparison that docs/json.md describes.
        """
        table = self.comparisons.to_arrow()
        decisions = {row.candidate: row.decision.words for row in self.decisions}
        choices = [decisions.get(name) for name in table["candidate"].to_pylist()]
        return table.add_column(0, "decision", pa.array(choices, pa.string()))

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a pandas data frame with one row per comparison; raise ImportError if pandas is not installed."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the result as nested dictionaries and lists, with the content that `to_json` writes (docs/json.md)."""
        return self._outcome.to_dict()

    def to_json(self) -> str:
        """Return the JSON that `ndcg-ab compare --json` writes; equal inputs give equal bytes."""
        return self._outcome.to_json()

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the HTML page that `ndcg-ab compare --report` writes, and return its path.

        The page is written completely or not at all.

        Parameters
        ----------
        path : path
            File to write, which must end in .html or .htm.

        Returns
        -------
        pathlib.Path
            The written file.

        Raises
        ------
        InputError
            If the name has another ending, or the directory does not exist.
        """
        from ndcg_ab.report.page.render import write_page

        target = Path(path).expanduser()
        if target.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"report {target}: must end in .html")
        if not target.parent.is_dir():
            raise InputError(f"report {target}: there is no directory {target.parent}")
        write_page(target, self._page)
        return target

    # ---- as it shows itself

    def __repr__(self) -> str:
        rows = self._outcome.main
        if not rows:
            names = ", ".join(metric.name for metric in self.metrics)
            return f"<CompareResult: {self.baseline} alone, {names}>"
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        first = rows[0]
        return f"<CompareResult: {first.candidate} against {first.baseline}, {first.metric}: {first.conclusion}{more}>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.grid import format_printed
        from ndcg_ab.report.terminal.screen import print_answer_and_gates

        return format_printed(print_answer_and_gates, self._outcome)

    def _repr_html_(self) -> str:
        from ndcg_ab.report.page.render import format_outcome_html

        return format_outcome_html(self._outcome)


def choose_name(argument: str, name: str | None, names: Sequence[str]) -> str:
    """Return a name after checking that it is known; None stands for the first known name.

    Raise InputError, which names the Python argument `argument`, for an unknown name.
    """
    if name is None or name in names:
        return name or names[0]
    among = list(dict.fromkeys(names))
    raise InputError(f"{argument} = {name!r}: is not compared (there: {', '.join(among)}){nearest_hint(name, among)}")
