"""What the forms without a header share: a reading of lines whose fields are known by their place."""

from collections.abc import Mapping, Sequence

from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.sources.forms.names import field_column
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.value_lines import are_named


def rows_without_header(sample: Sample, width: int) -> list[list[str]]:
    """Return the fields of lines that have so many; none with a header, named columns, or names of measures."""
    _, rows = sample.rows
    is_header = bool(rows) and sum(field_column(name, rows[0]) is not None for name in ("query_id", "doc_id")) > 1
    are_others = is_header or (rows and len(rows[0]) != width) or (width == 3 and rows and are_named(rows))
    return [] if sample.columns or are_others else rows


def column(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    """Return the values of one column, whose places begin with 0."""
    return [row[place] for row in rows]


def read_places(sample: Sample, kind: str, places: Mapping[str, int], width: int) -> Reading:
    """Return how lines are read whose fields are at these places, beginning with 0."""
    by_place = {place: name for name, place in places.items()}
    names = tuple(by_place.get(place, f"unused_{place}") for place in range(width))
    delimiter, _ = sample.rows
    return Reading(kind, "trec" if delimiter == " " else "delimited", names=names, delimiter=delimiter)
