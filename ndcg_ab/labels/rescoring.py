"""Score rankings again by other judgments, such as those of one judge, or all but those of one system.

Rankings must be complete: a reduced ranking may lack results that other judgments need. `compare_leaving_out` repeats
comparisons without the judgments that one system alone contributed; the column `source` of the judgments names systems
that are compared. (Leave-one-system-out: Zobel, SIGIR 1998; docs/labels.md, "Where the labels came from".)
`compare_judges` compares several judges of one set of documents: their agreement, and the verdicts by each judge.
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.comparing.families import NOTHING, candidate_names, compare_columns, make_column, metric_columns
from ndcg_ab.comparing.sampling import PLAIN, Sampling, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.settings import Slices
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.labels.unjudged import mean_of
from ndcg_ab.results.change_records import Judge, JudgeNoise, Judges, TwoJudges
from ndcg_ab.results.outcome import Finding, LeftOut
from ndcg_ab.results.wording import PRIMARY
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.metric_tables import own_metrics
from ndcg_ab.scoring.parity import read_results, recompute_sample, scored_depth
from ndcg_ab.scoring.scoring import PulledInputs, open_engine_for, score_metrics
from ndcg_ab.sources import JUDGMENT, Pulled
from ndcg_ab.sources.judgments.gathering import JudgmentCodes, split_by_judge
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.score import score_query
from ndcg_core.statistics.estimates.agreement import cohen_kappa, confusion_matrix, krippendorff_alpha
from ndcg_core.statistics.paired import Column
from ndcg_core.statistics.verdicts.comparison import Comparison

PRIMARY_ALONE: dict[str, Any] = {  # of an evaluation: the systems on the primary metrics alone
    "more_judgments": [],
    "cheap_judgments": None,
    "secondary_metrics": [],
    "guardrails": {},
    "slices": Slices(),
    "gate": None,
    "findings": {},
    "strict": False,
}


# An engine with the rankings and other judgments, whose tables are gone when its context ends; the systems on the
# primary metrics alone; and what the data check noticed
Rescored = tuple[Engine, Evaluation, Sequence[Finding]]


def compare_primary(engine: Engine, evaluation: Evaluation) -> list[Comparison]:
    """Return the comparisons of the candidates with the baseline on the primary metrics."""
    columns = metric_columns(engine, evaluation, read_sampling(engine, evaluation))
    return compare_columns(columns, evaluation, PRIMARY)


@contextlib.contextmanager
def rescore(
    evaluation: Evaluation,
    read: PulledInputs,
    judgments: Pulled | pa.Table,
    about: str,
    *,
    check: bool = True,
    score: bool = True,
) -> Iterator[Rescored]:
    """Score rankings by other judgments; yield an engine, the reduced configuration, and findings.

    The reduced configuration compares the systems on the primary metrics alone.
    read: all inputs, with complete rankings.
    judgments: pulled judgments, or a table in the columns of `JUDGMENT`.
    about: the beginning of the message of an InputError.
    check: True to check the data; otherwise there are no findings.
    score: True to compute scores.
    Raises InputError if the judgments cannot be used.
    """
    if isinstance(judgments, pa.Table):
        assert read.judgments is not None
        judgments = Pulled(judgments, JUDGMENT, read.judgments.source)
    single = evaluation.model_copy(update=PRIMARY_ALONE)
    findings: Sequence[Finding] = ()
    try:
        with open_engine_for(single) as engine:
            if check:
                findings = load_and_check(engine, read._replace(judgments=judgments, proxy=None), single)
            else:
                load_tables(engine, judgments, read.queries, read.rankings, single)
            if score:
                score_metrics(engine, single.metric_list, summed_up=False)
                recompute_sample(engine, single.metric_list)
            yield engine, single, findings
    except InputError as error:
        raise type(error)(f"{about}: {error}") from error.__cause__


NO_SOURCE = ""  # of judgments without a source
KEYS = ["query_id", "doc_id"]


def contributing_systems(evaluation: Evaluation, singles: pa.Table | None) -> list[str]:
    """Return the compared systems that judgments name as their source, in configured order.

    The list is empty on Spark, and if judgments name no sources.
    singles: the judgments with their sources, before several judgments of one document were combined; None if nothing
        was combined.
    """
    if singles is None or evaluation.engine.spark:
        return []
    names = set(pc.unique(singles["source"]).to_pylist())
    return [system.name for system in evaluation.systems if system.name in names]


def compare_leaving_out(evaluation: Evaluation, read: PulledInputs) -> Iterator[LeftOut]:
    """Repeat each primary comparison without the judgments that one system alone contributed.

    Yields one record for each system that judgments name as their source. The rankings must be complete. The remaining
    judgments are not checked, since they are incomplete on purpose.
    """
    assert read.judgments is not None
    names = contributing_systems(evaluation, read.judgments.singles)
    if not names:
        return
    owned = sole_sources(read.judgments.singles)
    for name in names:
        hidden = owned.filter(pc.equal(owned["source"], name)).select(KEYS)
        yield LeftOut(name, hidden.num_rows, tuple(compare_without(evaluation, read, name, hidden)))


def sole_sources(singles: pa.Table) -> pa.Table:
    """Return (query_id, doc_id, source) of the judged documents that exactly one source contributed.

    The source is "" for judgments without a source.
    """
    texts = pa.table(
        {
            **{name: singles[name].cast(pa.string()) for name in KEYS},
            "source": pc.fill_null(singles["source"].cast(pa.string()), NO_SOURCE),
        }
    )
    sources = texts.group_by([*KEYS, "source"], use_threads=False).aggregate([])
    counts = sources.group_by(KEYS, use_threads=False).aggregate([("source", "count"), ("source", "min")])
    sole = counts.filter(pc.equal(counts["source_count"], 1)).rename_columns([*KEYS, "count", "source"])
    return sole.select([*KEYS, "source"])


def compare_without(evaluation: Evaluation, read: PulledInputs, name: str, hidden: pa.Table) -> list[Comparison]:
    """Return the primary comparisons without the judgments in `hidden`.

    If no judgment remains, the comparisons have no queries.
    name: the system that alone contributed these judgments, for messages.
    hidden: query_id and doc_id of the judgments to leave out.
    """
    assert read.judgments is not None
    table = read.judgments.table
    layout = pa.schema([field.with_type(pa.string()) if field.name in KEYS else field for field in table.schema])
    rest = table.cast(layout).replace_schema_metadata().join(hidden, KEYS, join_type="left anti")
    rest = rest.sort_by([(key, "ascending") for key in KEYS]).select(table.column_names).cast(table.schema)
    if not rest.num_rows:
        pairs = [(metric, candidate) for metric in evaluation.metrics for candidate in candidate_names(evaluation)]
        columns = [make_column(evaluation, candidate, metric, NOTHING, PLAIN) for metric, candidate in pairs]
        return compare_columns(columns, evaluation, PRIMARY)
    with rescore(evaluation, read, rest, f"judgments without those of {name} alone", check=False) as (engine, fewer, _):
        return compare_primary(engine, fewer)


MOST_TESTED = 10  # judges with own verdicts at most: those with the most documents
MOST_PAIRS = 45
DRAWS, LEAST_DRAWS = 200, 20
WORK = 20_000  # values computed for all draws together
Grades = dict[str, float]


def compare_judges(evaluation: Evaluation, read: PulledInputs) -> Judges | None:
    """Return the agreement of the judges, the verdicts by each judge, and the noise of the differences.

    The rankings must be complete. The result is None on Spark, if the judgments were not combined from several judges
    or files, or if no document has several judges.
    """
    if read.judgments is None or read.judgments.singles is None or evaluation.engine.spark is not None:
        return None
    judged = split_by_judge(read.judgments.singles, evaluation.judgments_precedence)
    counts = np.bincount(judged.key)
    if counts.max() < 2:
        return None
    odd, noise = disagreed_keys(judged), tuple[JudgeNoise, ...]()
    if len(odd):
        rescored = rescore(evaluation, read, read.judgments.table, "judgments")
        with rescored as (engine, single, _), contextlib.suppress(MetricError):  # a metric that cannot score a grade
            noise = tuple(measure_noise_by_draws(engine, single, judged, odd))
    return Judges(
        judges=tuple(list_judges(judged, evaluation.slices.smallest, partial(compare_by, evaluation, read, judged))),
        several=int((counts > 1).sum()),
        disagreed=len(odd),
        alpha=krippendorff_alpha(judged.key, judged.grade),
        pairs=tuple(compare_pairs_of_judges(judged)),
        noise=noise,
    )


def disagreed_keys(judged: JudgmentCodes) -> NDArray[np.intp]:
    """Return the documents that two judges graded differently, as indices into `judged.keys`."""
    lowest, highest = np.full(judged.keys.num_rows, np.inf), np.full(judged.keys.num_rows, -np.inf)
    np.minimum.at(lowest, judged.key, judged.grade)
    np.maximum.at(highest, judged.key, judged.grade)
    return np.flatnonzero(lowest < highest)


def list_judges(judged: JudgmentCodes, enough: int, compare: Callable[[str], tuple[Comparison, ...]]) -> list[Judge]:
    """Return the judges, sorted by their number of judged documents, the largest first.

    Judges with enough queries, at most `MOST_TESTED`, also get the comparisons of the systems by their judgments alone.
    enough: the number of judged queries that a judge needs for comparisons.
    compare: a function that returns the comparisons by the judge with a given name.
    """
    queries = judged.keys["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()[judged.key]
    rows = []
    for index, name in enumerate(judged.judges):
        mine = judged.judge == index
        rows.append((name, int(mine.sum()), len(np.unique(queries[mine]))))
    rows.sort(key=lambda row: (-row[1], row[0]))
    tested = [row[0] for row in rows if row[2] >= enough][:MOST_TESTED]
    return [Judge(*row, compare(row[0]) if row[0] in tested else ()) for row in rows]


def compare_pairs_of_judges(judged: JudgmentCodes) -> list[TwoJudges]:
    """Return the agreement of every two judges on the documents that both judged.

    Only the `MOST_PAIRS` pairs with the most such documents are returned.
    """
    pairs = []
    for first, second in combinations(range(len(judged.judges)), 2):
        ours, theirs = judged.judge == first, judged.judge == second
        _, at_a, at_b = np.intersect1d(judged.key[ours], judged.key[theirs], return_indices=True)
        if len(at_a):
            left, right = judged.grade[ours][at_a], judged.grade[theirs][at_b]
            names = (judged.judges[first], judged.judges[second])
            pairs.append(
                TwoJudges(*names, len(at_a), float((left == right).mean()), cohen_kappa(confusion_matrix(left, right)))
            )
    return sorted(pairs, key=lambda pair: (-pair.shared, pair.first, pair.second))[:MOST_PAIRS]


def compare_by(evaluation: Evaluation, read: PulledInputs, judged: JudgmentCodes, name: str) -> tuple[Comparison, ...]:
    """Return the primary comparisons by the judgments of the judge `name` alone.

    The result is () if these judgments cannot be scored.
    """
    try:
        with rescore(evaluation, read, judged.of_judge(name), f"judgments of {name!r}") as (engine, single, _):
            return tuple(compare_primary(engine, single))
    except InputError:
        return ()


# ---- a judge drawn for each document


def measure_noise_by_draws(
    engine: Engine, evaluation: Evaluation, judged: JudgmentCodes, odd: NDArray[np.intp]
) -> Iterator[JudgeNoise]:
    """Draw a grade for each document from those of its judges, many times, and yield how much differences vary.

    Yields one record per metric and candidate.
    engine: an engine in which the combined judgments are loaded and scored.
    odd: the documents on which judges disagree, as indices into `judged.keys`. Only their queries are scored again.
    """
    metrics = own_metrics(evaluation.metric_list)
    systems = [system.name for system in evaluation.systems]
    queries = sorted(judged.keys["query_id"].take(pa.array(odd)).unique().to_pylist())
    draws = max(LEAST_DRAWS, min(DRAWS, WORK // max(1, len(queries) * len(systems) * max(1, len(metrics)))))
    drawn = draw_grades(judged, queries, draws, evaluation.statistics.seed)
    results = dict(read_results(engine, systems, queries, scored_depth(metrics))) if metrics else {}
    highest = float(judged.grade.max())
    sampling = read_sampling(engine, evaluation)
    columns = {(column.metric, column.candidate): column for column in metric_columns(engine, evaluation, sampling)}

    def values(metric: Metric, system: str, query_id: str) -> NDArray[np.float64]:
        """Return a system's values for a query as an array (draws,), NaN where the query cannot be scored."""
        answer = results.get((system, query_id), [])
        return np.array([score_query(metric, answer, each, highest) for each in drawn[query_id]], dtype=np.float64)

    for metric in metrics:
        baseline = {query_id: values(metric, evaluation.baseline_name, query_id) for query_id in queries}
        for candidate in candidate_names(evaluation):
            differences = {query_id: values(metric, candidate, query_id) - baseline[query_id] for query_id in queries}
            column = columns[metric.name, candidate]
            means = mean_over_draws(column, differences, sampling, draws)
            if means is None:
                continue
            measured = mean_of(column, np.asarray(column.differences)) if len(column.query_ids) else 0.0
            reversed_share = np.mean(means * np.sign(measured) < 0)
            moments = (means.mean(), means.std(ddof=1), means.min(), means.max(), reversed_share)
            yield JudgeNoise(candidate, metric.name, draws, len(queries), *map(float, moments))


def draw_grades(judged: JudgmentCodes, queries: Sequence[str], draws: int, seed: int) -> dict[str, list[Grades]]:
    """Draw a grade for each document of some queries from those of its judges.

    Return, per query_id, one mapping doc_id -> grade for each draw.
    """
    query_ids, doc_ids = (judged.keys[name].to_pylist() for name in KEYS)
    drawn: dict[str, list[Grades]] = {query_id: [{} for _ in range(draws)] for query_id in queries}
    grades: dict[int, list[float]] = defaultdict(list)
    for key, grade in zip(judged.key.tolist(), judged.grade.tolist(), strict=True):
        if query_ids[key] in drawn:
            grades[key].append(grade)
    rng = np.random.default_rng(seed)
    for key in sorted(grades, key=lambda key: str(query_ids[key])):
        is_unanimous = len({*grades[key]}) == 1
        picked = [grades[key][0]] * draws if is_unanimous else rng.choice(grades[key], draws).tolist()
        for judgments, grade in zip(drawn[query_ids[key]], picked, strict=True):
            judgments[doc_ids[key]] = grade
    return drawn


def mean_over_draws(
    column: Column, differences: Mapping[str, NDArray[np.float64]], sampling: Sampling, draws: int
) -> NDArray[np.float64] | None:
    """Return the mean difference of each draw, as an array (draws,); None if a draw leaves no query to score.

    column: the measured differences, which are used for queries without drawn grades.
    differences: query_id -> array (draws,) of the differences by drawn grades, NaN if the query cannot be scored.
    sampling: the scales and weights of the queries.
    draws: number of draws.
    """
    indices = [index for index, query_id in enumerate(column.query_ids) if query_id not in differences]
    query_ids = [*(column.query_ids[index] for index in indices), *differences]
    rows = [np.full(draws, column.differences[index]) for index in indices] + list(differences.values())
    table = np.stack(rows)
    scales, weights = sampling.scales_and_weights(query_ids)
    table = table if scales is None else table * scales[:, None]
    shares = np.where(np.isnan(table), 0.0, 1.0 if weights is None else weights[:, None])
    totals = shares.sum(axis=0)
    if not (totals > 0).all():
        return None
    means: NDArray[np.float64] = (np.nan_to_num(table) * shares).sum(axis=0) / totals
    return means
