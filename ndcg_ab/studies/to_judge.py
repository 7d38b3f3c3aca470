"""What is to be judged next: a query and a document whose grade would say most about a comparison."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ToJudge:
    """One query and one document that nobody has judged.

    place: 1, 2, 3 …, the first first. text: the query's; title, url: the document's; None where they are not known.
    ranks: (system, rank) of every system that shows the document, in the order of the systems.
    effect: by how much its grade is expected to move the difference of the comparison, in the unit of the metric; None
        where nothing of the query is judged yet, and lowest and highest are not known either.
    lowest, highest: the difference of the comparison if it had the lowest and the highest grade, and no other changed.
    baseline, candidate, metric: the comparison.
    """

    place: int
    query_id: str
    doc_id: str
    text: str | None
    title: str | None
    url: str | None
    ranks: tuple[tuple[str, int], ...]
    effect: float | None
    lowest: float | None
    highest: float | None
    baseline: str
    candidate: str
    metric: str
