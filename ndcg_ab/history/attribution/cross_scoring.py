"""Rankings of one evaluation scored by the judgments of another, from the tables that both keep."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.comparing.families import Group, value_groups
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.scoring import scoring
from ndcg_ab.scoring.external_scores import SYSTEM_SCHEMA
from ndcg_ab.scoring.loading import put_metrics
from ndcg_ab.sources.queries import ATTRIBUTE_SCHEMA, TEXT_SCHEMA
from ndcg_core.measures.metric import Metric

OF_RANKINGS = ("pulled_ranking", "pulled_answer", "pulled_failed_query")  # what is kept of a ranking, system by system
ABOUT_RANKINGS = ("pulled_known_rank", "pulled_document")  # what no score depends on
JUDGED = ["query_id", "doc_id"]


class Rankings(NamedTuple):
    """The rankings of some systems in the tables of one evaluation. label: of whose systems they are, in the result."""

    label: str
    engine: Engine
    system_ids: Sequence[str]

    def name(self, system_id: str) -> str:
        return f"{self.label} {system_id}"

    def read(self, table: str) -> pa.Table:
        """Their rows of one table, under the names of the result."""
        rows = self.engine.read(table, where={"system_id": list(self.system_ids)})
        names = pc.binary_join_element_wise(self.label, rows["system_id"].cast(pa.string()), " ")
        return rows.set_column(rows.schema.get_field_index("system_id"), "system_id", names)


def score_by_judgments(
    judgments: Engine, rankings: Sequence[Rankings], metrics: Sequence[Metric], evaluation: Evaluation
) -> dict[tuple[str, ...], Group]:
    """(metric_hash, `Rankings.name`) -> the values of the queries by the judgments that an engine holds.

    evaluation: whose engine and memory are taken.
    """
    systems = [each.name(system_id) for each in rankings for system_id in each.system_ids]
    judged = judgments.read("judgment")
    tables = {name: pa.concat_tables([each.read(name) for each in rankings]) for name in OF_RANKINGS}
    with scoring.open_engine_for(evaluation) as engine:
        engine.number("system_id", systems)
        named = [table["query_id"] for table in (judged, *tables.values())]
        engine.number("query_id", {text for ids in named for text in ids.unique().to_pylist()})
        put_metrics(engine, metrics)
        engine.put("pulled_judgment", judged)
        engine.put("pulled_query", TEXT_SCHEMA.empty_table())
        engine.put("pulled_attribute", ATTRIBUTE_SCHEMA.empty_table())
        for name, table in tables.items():
            engine.put(name, table)
        for name in ABOUT_RANKINGS:
            engine.put(name, rankings[0].engine.read(name).slice(0, 0))
        engine.put("pulled_system", pa.table([systems, list(range(len(systems)))], schema=SYSTEM_SCHEMA))
        engine.set(baseline=systems[0])
        scoring.score_metrics(engine, metrics, summed_up=False)
        values = engine.read("metric_value", ("metric_hash", "system_id", "query_id", "value"), order="query_id")
        return value_groups(values, "metric_hash", "system_id")


def count_changed_judgments(then: Engine, now: Engine, query_ids: Sequence[str]) -> tuple[int, int]:
    """On these queries: how many judgments are new, and how many have another grade or are gone."""
    wanted = pa.array(query_ids, pa.string())
    old, new = (
        engine.read("judgment", (*JUDGED, "grade")).filter(pc.field("query_id").isin(wanted)) for engine in (then, now)
    )
    both = old.join(new, JUDGED, join_type="full outer", left_suffix="_old", right_suffix="_new")
    is_new = both["grade_old"].is_null()
    is_same = pc.fill_null(pc.equal(both["grade_old"], both["grade_new"]), False)
    fresh = pc.sum(is_new).as_py() or 0
    return fresh, both.num_rows - fresh - (pc.sum(is_same).as_py() or 0)
