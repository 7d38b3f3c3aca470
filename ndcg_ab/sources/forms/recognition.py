"""Recognise the form of a file among all known forms, and choose how the file is read."""

import dataclasses
import shlex
import textwrap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ndcg_ab.config.loading.hints import SEEN, utf8_command
from ndcg_ab.config.model.inputs.sources import FORMATS, PACKED_SUFFIXES
from ndcg_ab.errors import InputError, format_value, shorten
from ndcg_ab.sources.files.streams import split_fields
from ndcg_ab.sources.forms import exports, lines, nested, tables, user_events
from ndcg_ab.sources.forms.form import EVENTS, JUDGMENTS, QUERIES, RANKING, SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample
from ndcg_ab.sources.tables.schema import names_text

FORMS: tuple[Form, ...] = (  # the first form of a kind that fits is used
    *tables.FORMS,
    *lines.FORMS,
    *exports.FORMS,
    *nested.FORMS,
    user_events.FORM,
)
PLAIN_FORMS = ("", *(form.words for form in (*lines.TREC_FORMS, *tables.PLAIN_FORMS)))  # their columns are ours
OPTIONS = {
    JUDGMENTS: "--judgments FILE",
    RANKING: "--system NAME=FILE",
    QUERIES: "--queries FILE",
    SCORES: "--scores FILE",
    EVENTS: "ndcg-ab clicks FILE",
}
KINDS = {"judgment": JUDGMENTS, "ranking": RANKING, "ranking with costs": RANKING, "query": QUERIES}  # of layouts
TREC_COLUMNS = {  # of layouts, for text between white space that has no form that is known
    "judgment": ("query_id", "unused_1", "doc_id", "grade"),
    "ranking": ("query_id", "unused_1", "doc_id", "rank", "score", "tag"),
    "intended query": ("query_id",),
    "careful query": ("query_id",),
}
TABLES = {"csv": ("delimited", ","), "tsv": ("delimited", "\t")}  # format -> how it is read


def recognise(sample: Sample, kind: str | None = None) -> Reading | None:
    """Recognise the form of a file from its beginning, and return how the file is read, or None if no known form fits.

    Parameters
    ----------
    sample : Sample
        The beginning of the file.
    kind : str, optional
        The content that the file must have; None: any.

    Raises
    ------
    InputError
        If no kind is given and the file fits two kinds.
    """
    by_kind: dict[str, Reading] = {}
    for form in FORMS:
        if form.kind == (kind or form.kind) and form.kind not in by_kind and (reading := form.sniff(sample)):
            by_kind[form.kind] = dataclasses.replace(reading, words=reading.words or form.words)
    by_kind = {each: reading for each, reading in by_kind.items() if not reading.is_doubtful} or by_kind
    if len(by_kind) > 1:
        readings = " or ".join(f"{reading.words} ({OPTIONS[each]})" for each, reading in by_kind.items())
        raise InputError(f"{sample.path}: may be {readings}: say which, by the option")
    return next(iter(by_kind.values()), None)


def recognise_file(path: Path, kind: str | None = None) -> Reading | None:
    """Recognise the form of a file from its beginning, and return how the file is read, or None if no known form fits.

    kind: the content that the file must have; None: any. Raises InputError if no kind is given and the file fits two
    kinds.
    """
    return recognise(Sample.of_file(path), kind)


def list_forms() -> str:
    """Return all file forms that are recognised, such as BEIR judgments, as Markdown with a sample of each.

    There is one list for each kind of content, such as judgments.
    """
    parts = []
    for kind, option in OPTIONS.items():
        parts.append(f"{kind.capitalize()} (`{option}`):")
        parts += [
            f"- {form.words}\n\n{textwrap.indent(f'```{chr(10)}{form.sample.rstrip()}{chr(10)}```', '  ')}"
            for form in FORMS
            if form.kind == kind
        ]
    return "\n\n".join(parts) + "\n"


def refuse_unknown_form(path: Path) -> NoReturn:
    """Raise the InputError for a file whose form is unknown and for which no kind of content is given."""
    sample = Sample.of_file(path)
    names = sample.column_names
    if sample.is_parquet and not names:
        raise InputError(f"{path}: the Parquet file is broken, write it again")
    with path.open("rb") as file:
        start = file.read(SEEN).strip()
    if start and not names and not sample.lines:
        raise InputError(f"{path}: holds no line of text: {utf8_command(start)}")
    if len(names) < 2 and sample.lines:
        example = f"its first line ({shorten(sample.lines[0])}) is that"
    else:
        example = f"the columns ({names_text(names)}) are those"
    raise InputError(
        f"{path}: {example} of neither judgments (query_id, doc_id, grade) nor a ranking (query_id, doc_id, score or"
        " rank) nor queries (query_id, text): give its columns these names, or see ndcg-ab help formats"
    )


def choose_reading(sample: Sample, layout: str, form: str | None = None) -> Reading:
    """Return the `Reading` that says how a file or data in memory are read.

    layout: the kind of a row, such as ``judgment`` or ``ranking``. form: the configured format, or None. Raises
    InputError if no format is configured and the file seems to have another kind of content.
    """
    kind = KINDS.get(layout)
    recognised = recognise(sample, kind) if kind else None
    plain = plain_reading(sample, layout, form)
    if recognised and (form is None or has_configured_format(recognised, plain)):
        return recognised
    if recognised is None and kind and form is None and not sample.columns:
        refuse_other_kind(sample, kind)
    return plain


def refuse_other_kind(sample: Sample, kind: str) -> None:
    """Raise InputError if a file seems to have another kind of content than the needed kind."""
    likely = (JUDGMENTS, RANKING) if kind == QUERIES else OPTIONS  # queries have columns of any kind
    others = [recognise(sample, each) for each in likely if each != kind]
    other = next((each for each in others if each and not each.is_doubtful), None)
    if other is not None:
        needed = "a ranking is" if kind == RANKING else f"{kind} are"
        content = "a ranking" if other.kind == RANKING else other.kind
        swapped = "are judgments and ranking swapped?" if {kind, other.kind} == {JUDGMENTS, RANKING} else ""
        remedy = swapped or f"give it with {OPTIONS[other.kind]}"
        if other.kind == SCORES:
            remedy = f"values are compared without judgments → ndcg-ab compare --scores {shlex.quote(str(sample.path))}"
        raise InputError(f"{sample.path}: this looks like {content} ({other.note}), and {needed} needed: {remedy}")


def has_configured_format(recognised: Reading, plain: Reading) -> bool:
    """Return whether a recognised `Reading` has the format and the delimiter that are configured.

    recognised, plain: how the file is read by its recognised form, and by the configured format.
    """
    families = {"json": "jsonl"}
    is_equal = families.get(recognised.format, recognised.format) == families.get(plain.format, plain.format)
    return is_equal and (recognised.format != "delimited" or recognised.delimiter == plain.delimiter)


def plain_reading(sample: Sample, layout: str, form: str | None = None) -> Reading:
    """Return the `Reading` of a table by its format alone.

    The format is the configured one, or else follows from the first bytes, the first line or the file name. layout: the
    kind of a row, such as ``judgment`` or ``ranking``. form: the configured format, or None.
    """
    format_name = form or ("parquet" if sample.is_parquet else format_by_name(sample.path))
    if not form and format_name in ("trec", *TABLES) and (sign := find_header_delimiter(sample, format_name, layout)):
        return Reading(KINDS.get(layout, layout), "delimited", delimiter=sign)
    if not form and format_name == "trec" and sample.is_json:
        format_name = "jsonl"
    number = {"judgment": "grade", "ranking": "score"}.get(layout)
    value = sample.value
    is_nested = isinstance(value, Mapping) and value and all(isinstance(each, Mapping) for each in value.values())
    if format_name == "jsonl" and number and is_nested:  # read_numbers names a wrong one
        records = partial(nested.read_numbers, field=number)
        return Reading(KINDS[layout], "json", records=records, words=f"{{query: {{document: {number}}}}}")
    if format_name == "jsonl" and sample.is_json and not sample.objects and not isinstance(sample.document, list):
        return Reading(KINDS.get(layout, layout), "json", records=partial(refuse_unknown_json, layout=layout))
    file_format, delimiter = TABLES.get(format_name, (format_name, " " if format_name == "trec" else ""))
    names = TREC_COLUMNS.get(layout, ()) if format_name == "trec" else ()
    return Reading(KINDS.get(layout, layout), file_format, names=names, delimiter=delimiter)


def find_header_delimiter(sample: Sample, by_name: str, layout: str) -> str:
    """Return the delimiter of a file's header line if the file name implies another format, else an empty text.

    The text is empty, too, if there is no header. by_name: the format that the file name implies: ``csv``, ``tsv`` or
    ``trec``. layout: the kind of a row, such as ``judgment`` or ``ranking``.
    """
    line = "" if sample.is_json else next(iter(sample.lines), "")
    if by_name in TABLES:
        is_plain = len(sample.head(TABLES[by_name][1])) > 1
    else:
        is_plain = layout in TREC_COLUMNS and (layout not in KINDS or len(split_fields(line)) > 1)
    names, sign = max(((sample.head(sign), sign) for sign in DELIMITERS), key=lambda each: len(each[0]))
    is_header = len(names) > 1 and not any(map(is_plain_number, names))
    return sign if line and is_header and not is_plain else ""


def refuse_unknown_json(value: Any, layout: str) -> Records:
    """Raise the InputError for a JSON document whose form is unknown.

    layout: the kind of a row, such as ``judgment`` or ``ranking``.
    """
    number = {"judgment": "grade", "ranking": "score"}.get(layout)
    ways = "give a list of objects, one object a line"
    ways += f", or one object as {{query_id: {{doc_id: {number}}}}}" if number else ""
    raise InputError(f"{format_value(value)} has no form that is known: {ways}")


def format_by_name(path: Path) -> str:
    """Return the format that the suffix of a file name implies; "trec" for every unknown suffix."""
    suffixes = (suffix for suffix in reversed(Path(path.name.lower()).suffixes) if suffix not in PACKED_SUFFIXES)
    return FORMATS.get(next(suffixes, ""), "trec")
