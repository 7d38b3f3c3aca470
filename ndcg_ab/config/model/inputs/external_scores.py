"""The key `scores`: values per query that another tool computed, instead of judgments and rankings."""

from typing import Annotated, Any, Literal

from pydantic import Field

from ndcg_ab.config.model.inputs.sources import Readable
from ndcg_ab.config.model.keys import Trait
from ndcg_ab.config.model.operation import GivenPath
from ndcg_core.measures.external_metric import GivenMetric, canonical_name

ScoresFormat = Literal["csv", "tsv", "jsonl", "parquet", "trec_eval", "ir_measures", "pytrec_eval"]


class ScoresSource(Readable):
    """A file of values per query: of one system, or of those that its column system_id names."""

    alone = "file"

    file: Annotated[GivenPath, Trait.INPUT, Trait.DATED] = Field(
        description="Path of the file, relative to the configuration."
    )
    system: str | None = Field(None, description="Whose values these are; without it the column system_id says it.")
    format: ScoresFormat | None = Field(None, description="The file's format; by default told by its name and lines.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Names of columns that differ: system_id, query_id, metric, value."
    )

    @property
    def shown(self) -> str:
        """Its name in tables of what was read."""
        return self.system or self.file.name

    @property
    def origin(self) -> str:
        """The place as it was given, for the page."""
        return str(self.file)


def other_metric(text: Any) -> str:
    """The name of a metric that another tool computed; MetricError where it cannot be one."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r}: must be the name of a metric in the scores")
    return GivenMetric(given=canonical_name(text)).name
