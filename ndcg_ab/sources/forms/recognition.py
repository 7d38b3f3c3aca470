"""The recognition of forms: the one list of them, and the choice among them."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.errors import InputError
from ndcg_ab.sources.forms.form import Form, Reading
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text import (
    five_fields,
    graded_lines,
    line_per_query,
    query_document_grade,
    query_document_rank,
    query_document_score,
    table,
    trec_judgments,
    trec_ranking,
    user_ratings,
)

FORMS: tuple[Form, ...] = (  # of several of one kind the first that fits is taken
    table.BEIR_FORM,
    table.JUDGMENTS_FORM,
    table.RANKING_FORM,
    table.QUERIES_FORM,
    line_per_query.FORM,
    graded_lines.FORM,
    user_ratings.FORM,
    trec_judgments.FORM,
    trec_ranking.FORM,
    five_fields.FORM,
    query_document_rank.FORM,
    query_document_grade.FORM,
    query_document_score.FORM,
)
OPTIONS = {"judgments": "--judgments FILE", "ranking": "--system NAME=FILE", "queries": "--queries FILE"}


def recognise(sample: Sample, kind: str | None = None) -> Reading | None:
    """Return how a file is read; None if it has no form that is known.

    Parameters
    ----------
    sample : Sample
        The beginning of the file.
    kind : str, optional
        What the file is said to hold.

    Raises
    ------
    InputError
        If nothing is said, and the file may be read as two kinds.
    """
    found: dict[str, Reading] = {}
    for form in FORMS:
        if form.kind == (kind or form.kind) and form.kind not in found and (reading := form.sniff(sample)):
            found[form.kind] = dataclasses.replace(reading, words=reading.words or form.words)
    if len(found) > 1:
        readings = " or ".join(f"{reading.words} ({OPTIONS[each]})" for each, reading in found.items())
        raise InputError(f"{sample.path}: may be {readings}: say which, by the option")
    return next(iter(found.values()), None)


def recognise_file(path: Path, kind: str | None = None, columns: Mapping[str, str] | None = None) -> Reading | None:
    """Return how a file is read, by its beginning; None if it has no form that is known."""
    return recognise(Sample.of_file(path, columns), kind)
