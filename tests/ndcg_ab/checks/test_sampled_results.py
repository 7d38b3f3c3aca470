"""The sample that is computed twice: results that no metric can look at are not fetched, and every other one is."""

import random
from itertools import starmap

import pyarrow as pa
import pytest

from ndcg_ab.scoring.loading import list_rows
from ndcg_ab.scoring.parity import RESULT, keep_reachable
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query

METRICS = ("ndcg@3", "ndcg(ties=average)@3", "precision(ties=doc_id_asc)@3", "ndcg(score_precision=float32)@3")


def drawn(seed: int, *, scored: bool = True) -> list[Result]:
    """Forty results with many equal scores, some apart only beyond 32 bits, and ranks that follow nothing."""
    draw = random.Random(seed)
    ranks = draw.sample(range(60), 40)
    scores = [draw.choice((5.0, 5.0 + 1e-9, 4.0, -2.0)) if scored else None for _ in ranks]
    return [Result(f"d{index:02}", score, ranks[index]) for index, score in enumerate(scores)]


def fetched(results: list[Result], places: int) -> list[Result]:
    table = pa.table([list(column) for column in zip(*results, strict=True)], schema=RESULT)
    return list(starmap(Result, list_rows(keep_reachable(table, places))))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("metric", [*METRICS, "ndcg(ties=given)@3", "rr(ties=given)@3"])
def test_what_is_fetched_has_the_value_of_the_whole(metric: str, seed: int) -> None:
    results = drawn(seed)
    judgments = {row.doc_id: float(index % 4) for index, row in enumerate(results)}
    assert score_query(parse(metric), fetched(results, 3), judgments) == score_query(parse(metric), results, judgments)


def test_ranks_alone_are_cut_by_rank_and_scores_beyond_32_bits_are_kept() -> None:
    assert {row.rank_given for row in fetched(drawn(1, scored=False), 5)} == set(
        sorted(row.rank_given for row in drawn(1) if row.rank_given is not None)[:5]
    )
    assert len(fetched([Result("a", 1e300), Result("b", 1e299), Result("c", 1.0)], 1)) == 2
