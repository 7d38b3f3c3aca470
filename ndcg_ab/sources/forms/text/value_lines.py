"""Values of metrics by query, as trec_eval -q and ir_measures -q print them."""

import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial

from ndcg_ab.errors import InputError
from ndcg_ab.sources.forms.form import SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.measure_names import IR_MEASURES, NO_NUMBERS, TREC_EVAL, are_measures
from ndcg_ab.sources.forms.plausible import numbers
from ndcg_ab.sources.forms.sample import Sample

ALL = "all"  # the mean over all queries
WRITERS = ("trec_eval", "ir_measures")


def sniff(sample: Sample) -> Reading | None:
    rows = [] if sample.is_json or sample.columns else [split_fields(line) for line in sample.lines]
    if not rows or any(len(row) != 3 for row in rows) or guess_writer(rows) is None:
        return None
    values = [row[2] for row in rows if not NO_NUMBERS.fullmatch(row[0])]
    if numbers(values) is None:
        return None
    return dataclasses.replace(READING, is_doubtful=not are_named(rows))


def are_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether one of the first two fields of every line is the name of a measure."""
    return are_measures(row[0].strip() for row in rows) or are_measures(row[1].strip() for row in rows)


def split_fields(line: str) -> list[str]:
    return [field.strip() for field in line.strip("\r\n").split("\t")] if "\t" in line else line.split()


def guess_writer(rows: Sequence[Sequence[str]]) -> str | None:
    """Return which tool printed lines, by their means over all queries, else by the names of the measures."""
    firsts, seconds = ({row[place] for row in rows} for place in (0, 1))
    if (ALL in firsts) != (ALL in seconds):
        return "ir_measures" if ALL in firsts else "trec_eval"
    is_trec_eval = all(TREC_EVAL.fullmatch(name) for name in firsts)
    is_ir_measures = all(IR_MEASURES.fullmatch(name) for name in seconds)
    if is_trec_eval == is_ir_measures:
        return None
    return "trec_eval" if is_trec_eval else "ir_measures"


def read_lines(lines: Iterable[tuple[int, str]], writer: str | None = None) -> Records:
    """Yield the record of each line; writer: the tool that printed them, if it is known."""
    rows = [(number, split_fields(line)) for number, line in lines if line.strip()]
    for number, fields in rows:
        if len(fields) != 3:
            means = "; a mean over all queries has two: write the file with -q" if len(fields) == 2 else ""
            raise InputError(
                f"line {number}: has {len(fields)} fields: a line of scores has three, measure, query and value"
                f" (trec_eval -q) or query, measure and value (ir_measures -q){means}"
            )
    writer = writer or guess_writer([fields for _, fields in rows])
    if writer is None:
        raise InputError(
            "it cannot be told which column holds the measures: say the format, trec_eval (measure, query, value) or"
            " ir_measures (query, measure, value)"
        )
    for number, (first, second, value) in rows:
        measure, query_id = (first, second) if writer == "trec_eval" else (second, first)
        if writer != "trec_eval" or not NO_NUMBERS.fullmatch(measure):
            yield f"line {number}", {"query_id": query_id, "metric": measure, "value": value}


READING = Reading(SCORES, "lines", records=read_lines)
FORMATS = {writer: Reading(SCORES, "lines", records=partial(read_lines, writer=writer)) for writer in WRITERS}
FORM = Form(
    "values by query of trec_eval or ir_measures",
    SCORES,
    "ndcg_cut_10 \tq1\t0.5000\nndcg_cut_10 \tall\t0.5000\n",
    sniff,
)
