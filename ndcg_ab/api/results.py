"""What `compare` and `evaluate` return."""

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ndcg_ab.errors import InputError
from ndcg_ab.report.answer import make_answer
from ndcg_ab.report.page.data import Moved, PageData, largest_moves
from ndcg_ab.report.words import deciding_interval
from ndcg_ab.results import codec
from ndcg_ab.results.change_records import Changes
from ndcg_ab.results.cost_records import Costs
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.outcome import Finding, GateResult, Outcome, SystemSummary
from ndcg_core.measures.external_metric import name_among
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.writing import nearest_hint
from ndcg_core.statistics.verdicts.comparison import Comparison

if TYPE_CHECKING:
    import pandas
    import polars

Kind = TypeVar("Kind")


class Records(tuple[Kind, ...]):
    """A tuple of records that can also be had as a table, with a column for each of their fields."""

    kind: type

    def __new__(cls, rows: Iterable[Kind], kind: type) -> "Records[Kind]":
        made = super().__new__(cls, rows)
        made.kind = kind
        return made

    def to_arrow(self) -> pa.Table:
        """Return the records as a table of pyarrow."""
        return codec.records_table(self, self.kind)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the records as a frame; ImportError if pandas is not installed."""
        made: pandas.DataFrame = self.to_arrow().to_pandas()
        return made


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CompareResult:
    """What an evaluation found; it keeps its own copy of everything it gives, and no connection.

    In a notebook it shows itself, `print` writes the tables of the command.

    query_scores: one row per (system_id, query_id, metric) with value and metric_hash.
    """

    query_scores: pa.Table
    _outcome: Outcome
    _page: PageData

    # ---- what was found

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return self._outcome.baseline

    @property
    def costs(self) -> Costs | None:
        """What requests cost (docs/costs.md); None where that was not recorded."""
        return self._outcome.costs

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric: the primary ones, the secondary ones, the guardrails."""
        return self._outcome.metrics

    @property
    def systems(self) -> Records[SystemSummary]:
        """One row per metric and system: means, medians, counts, the share of judged results."""
        return Records(self._outcome.systems, SystemSummary)

    @property
    def comparisons(self) -> Records[Comparison]:
        """All of them, family by family: against the baseline, slices, pairs."""
        return Records(self._outcome.comparisons, Comparison)

    @property
    def findings(self) -> Records[Finding]:
        """What the data check noticed, the gravest first."""
        return Records(self._outcome.findings, Finding)

    @property
    def gates(self) -> Records[GateResult]:
        """What had to hold, and whether it does; empty where the configuration names no gate."""
        return Records(self._outcome.gates, GateResult)

    @property
    def decisions(self) -> Records[Decision]:
        """What to do with each candidate, and why, in the order of the systems."""
        return Records(self._outcome.decisions, Decision)

    @property
    def summary(self) -> pa.Table:
        """The matrix of the first screen: a row for each system, the baseline first, then the best decision.

        Columns: system, decision (null of the baseline), and for each metric `M` its mean, named `M`, and
        `M difference`, `M low`, `M high` and `M verdict`, which are null of the baseline.
        """
        answer = make_answer(self._outcome)
        rows = []
        for system, cells in answer.matrix.items():
            choice = answer.choices.get(system)
            row: dict[str, Any] = {"system": system, "decision": choice and choice.words}
            for metric, (mean, compared) in zip(self.metrics, cells, strict=True):
                interval = compared and deciding_interval(compared)
                row[metric.name] = mean
                row[f"{metric.name} difference"] = compared and compared.difference
                row[f"{metric.name} low"], row[f"{metric.name} high"] = interval or (None, None)
                row[f"{metric.name} verdict"] = compared and compared.verdict
            rows.append(row)
        texts = ("system", "decision", *(f"{metric.name} verdict" for metric in self.metrics))
        types = {name: pa.string() if name in texts else pa.float64() for name in rows[0]}
        return pa.Table.from_pylist(rows, schema=pa.schema(types))

    @property
    def changes(self) -> tuple[Changes, ...]:
        """What each candidate changed in the first places; empty where rankings are not here, or are very many."""
        return self._outcome.changes

    @property
    def is_clustered(self) -> bool:
        """Whether clusters of queries were tested as wholes."""
        return any(row.clusters is not None for row in self.comparisons)

    @property
    def is_weighted(self) -> bool:
        """Whether means and differences are weighted by the queries' weights."""
        return any(system.unweighted_mean is not None for system in self.systems)

    def comparison(self, candidate: str | None = None, metric: str | Metric | None = None) -> Comparison:
        """One candidate against the baseline on one metric; by default the first on the first metric.

        Raises InputError for a candidate or a metric that is not compared.
        """
        rows = self._outcome.main
        if not rows:
            raise InputError(f"candidate: there is none: {self.baseline!r} is the only system")
        known = [row.metric for row in rows]
        name = metric.name if isinstance(metric, Metric) else metric and name_among(metric, known)
        chosen = choose_name("candidate", candidate, [row.candidate for row in rows])
        measure = choose_name("metric", name, known)
        return next(row for row in rows if (row.candidate, row.metric) == (chosen, measure))

    def losses(
        self, candidate: str | None = None, metric: str | Metric | None = None, *, most: int = 10
    ) -> tuple[Moved, ...]:
        """The queries that a candidate lost most, the largest loss first; candidate and metric as of `comparison`."""
        found = self.comparison(candidate, metric)
        return tuple(largest_moves(self._page, found.metric, found.candidate, most))

    def in_words(self, candidate: str | None = None) -> str:
        """What `ndcg-ab compare --explain` prints of a candidate, by default of the first, as Markdown.

        Raises InputError for a candidate that is not compared.
        """
        from ndcg_ab.report.explanations import explain_candidate
        from ndcg_ab.report.markdown import format_words

        return format_words(explain_candidate(self._outcome, self.comparison(candidate).candidate))

    # ---- as tables and files

    def to_arrow(self) -> pa.Table:
        """Return a row for each comparison: the decision on its candidate, then the columns of docs/json.md."""
        table = self.comparisons.to_arrow()
        decisions = {row.candidate: row.decision.words for row in self.decisions}
        told = [decisions.get(name) for name in table["candidate"].to_pylist()]
        return table.add_column(0, "decision", pa.array(told, pa.string()))

    def to_pandas(self) -> "pandas.DataFrame":
        """The same for pandas; ImportError where it is not installed."""
        made: pandas.DataFrame = self.to_arrow().to_pandas()
        return made

    def to_polars(self) -> "polars.DataFrame":
        """The same for polars; ImportError where it is not installed."""
        import polars

        made = polars.from_arrow(self.to_arrow())
        assert isinstance(made, polars.DataFrame)
        return made

    def to_dict(self) -> dict[str, Any]:
        """What `to_json` writes."""
        return self._outcome.to_dict()

    def to_json(self) -> str:
        """What `ndcg-ab compare --json` writes: the same inputs give the same bytes."""
        return self._outcome.to_json()

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page that `ndcg-ab compare --report` writes, whole or not at all; its path.

        Raises InputError for a name that does not end in .html or that is in no directory.
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
        from ndcg_ab.report.notebook import format_printed, print_answer_and_gates

        return format_printed(print_answer_and_gates, self._outcome)

    def _repr_html_(self) -> str:
        from ndcg_ab.report.notebook import format_outcome_html

        return format_outcome_html(self._outcome)


def choose_name(argument: str, name: str | None, known: Sequence[str]) -> str:
    """The name, or the first that is known."""
    if name is None or name in known:
        return name or known[0]
    there = list(dict.fromkeys(known))
    raise InputError(f"{argument} = {name!r}: is not compared (there: {', '.join(there)}){nearest_hint(name, there)}")
