"""What the systems show of the judged queries, and how likely each grade is where nobody judged."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.labels.bounds import code_numbers
from ndcg_ab.scoring.metric_tables import deepest_cutoff
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.estimates.features import Features
from ndcg_core.statistics.estimates.grade_model import Fitted, Graded, fit_model

LEAST_JUDGED = 100  # documents within the pool; fewer say too little of the others
LEAST_RAISED = 10  # of them above the lowest grade
MOST_LEVELS = 20
POOLED = 800  # bytes that a document takes with its features and likely grades
FEATURE_SPREAD, SYSTEM_SPREAD, ALONE_SPREAD = 3.0, 1.0, 0.5  # of the slopes' priors

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pool:
    """Every document that a system shows for a judged query within the deepest cutoff: one row for each.

    query_ids, doc_ids: what the numbers query and doc, (n,), stand for; all judged queries, rising. systems: their
    names. ranks: (n, systems), from 1 on, 0 where a system does not show it so high. grade: (n,), NaN where unjudged.
    grades: all that the judgments hold, within the pool or not, and 0; rising.
    """

    query_ids: pa.Array
    doc_ids: pa.Array
    query: IntArray
    doc: IntArray
    ranks: IntArray
    systems: tuple[str, ...]
    grade: FloatArray
    grades: tuple[float, ...]

    @functools.cached_property
    def features(self) -> Features:
        return make_features(self.ranks)

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.grade)


@dataclass(frozen=True, eq=False)
class GradeModel:
    """How likely each level, a grade that the judgments hold or 0, is for each document of a pool."""

    levels: tuple[float, ...]
    fitted: Fitted

    def chances(self, pool: Pool) -> FloatArray:
        """(n, levels) chances that sum to 1; of judged documents, too, as if nobody had judged them."""
        reached = self.fitted.reached(pool.features, pool.query)
        ends = np.ones((1, len(pool.query))), np.zeros((1, len(pool.query)))
        found: FloatArray = -np.diff(np.concatenate([ends[0], reached, ends[1]]), axis=0).T
        return found

    def draw(self, pool: Pool, generator: np.random.Generator, draws: int) -> FloatArray:
        """(draws, unjudged documents) likely grades, with the model drawn again for each draw."""
        unjudged = ~pool.is_judged
        drawn = self.fitted.draw(generator, pool.features.take(unjudged), pool.query[unjudged], draws)
        return np.array(self.levels)[drawn]


def has_room_for_pool(engine: Engine, metrics: Sequence[Metric], what: str = "") -> bool:
    """Return whether memory has room for a model of the pool; what: else raise InputError, with its documents' name."""
    return engine.has_room("pooled_document", POOLED, what, pool_depth=deepest_cutoff(metrics))


def load_pool(engine: Engine, evaluation: Evaluation, metrics: Sequence[Metric]) -> Pool:
    """As deep as these metrics look; rows by rising query and document."""
    counted = engine.read("grade_count", ("query_id", "grade"), order="query_id")
    query_ids = pc.unique(counted["query_id"])
    grades = tuple(sorted({0.0, *pc.unique(counted["grade"]).to_pylist()}))
    depth = deepest_cutoff(metrics)
    rows = engine.read("pooled_document", order="query_id, doc_id, system_id", pool_depth=depth)
    doc_ids = pc.unique(rows["doc_id"])
    query, doc = code_numbers(rows["query_id"], query_ids), code_numbers(rows["doc_id"], doc_ids)
    is_first = np.ones(len(query), dtype=bool)
    is_first[1:] = (np.diff(query) != 0) | (np.diff(doc) != 0)
    line = np.cumsum(is_first) - 1
    systems = tuple(system.name for system in evaluation.systems)
    ranks = np.zeros((int(is_first.sum()), len(systems)), dtype=np.int64)
    ranks[line, code_numbers(rows["system_id"], pa.array(systems))] = rows["rank"].to_numpy()
    grade = pc.fill_null(rows["grade"].cast(pa.float64()), np.nan).to_numpy()[is_first]
    return Pool(query_ids, doc_ids, query[is_first], doc[is_first], ranks, systems, grade, grades)


def why_no_model(pool: Pool) -> str | None:
    """In words, why nothing is said of the unjudged documents; None where a model can be fitted."""
    grades = pool.grade[pool.is_judged]
    if len(pool.grades) > MOST_LEVELS:
        return f"the judgments hold {len(pool.grades)} grades, a model takes at most {MOST_LEVELS}"
    if len(grades) < LEAST_JUDGED:
        return f"only {len(grades)} of the documents shown are judged, a model needs {LEAST_JUDGED}"
    raised = int((grades > min(pool.grades)).sum())
    if raised < LEAST_RAISED:
        return f"only {raised} judged documents have more than the lowest grade, a model needs {LEAST_RAISED}"
    return None


def fit_grade_model(pool: Pool, begin: GradeModel | None = None) -> GradeModel:
    """The model of its judged documents; begin: that of nearly the same ones.

    ValueError where `why_no_model` says something.
    """
    if reason := why_no_model(pool):
        raise ValueError(reason)
    judged = pool.is_judged
    graded = Graded(
        pool.features.take(judged),
        pool.query[judged],
        np.searchsorted(pool.grades, pool.grade[judged]).astype(np.int64),
    )
    sizes = (len(pool.grades), len(pool.query_ids), system_spreads(pool.systems), len(pool.systems))
    return GradeModel(pool.grades, fit_model(graded, *sizes, begin.fitted if begin else None))


def make_features(ranks: IntArray) -> Features:
    """(n, 2 + 2 systems): the best discount, the share of the other systems that show it; each system's discount there;
    for each system whether it alone shows it.

    A discount is 1 / log2(rank + 1), and 0 where the document is not shown.
    """
    documents, systems = ranks.shape
    document, system = np.nonzero(ranks)
    discounts = 1 / np.log2(ranks[document, system] + 1)
    shown = np.bincount(document, minlength=documents)
    best = np.maximum.reduceat(discounts, np.cumsum(shown) - shown) if documents else np.zeros(0)
    others = (shown - 1) / max(systems - 1, 1)
    alone = shown[document] == 1
    every = np.arange(documents)
    columns = [np.zeros_like(every), np.ones_like(every), 2 + system, 2 + systems + system[alone]]
    rows = np.concatenate([every, every, document, document[alone]])
    values = np.concatenate([best, others, discounts, np.ones(int(alone.sum()))])
    order = np.argsort(rows, kind="stable")
    return Features(rows[order], np.concatenate(columns)[order], values[order], (documents, 2 + 2 * systems))


def system_spreads(systems: Sequence[str]) -> FloatArray:
    """Of the slopes' priors; the last ones, of what each system alone shows, are alike."""
    return np.array([FEATURE_SPREAD] * 2 + [SYSTEM_SPREAD] * len(systems) + [ALONE_SPREAD] * len(systems))
