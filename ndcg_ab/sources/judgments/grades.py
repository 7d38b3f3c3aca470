"""Convert grades: numbers for words, and checks for timestamps and ids in their place."""

import dataclasses
import shlex
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Pulled, PullRequest, Source
from ndcg_ab.sources.forms.plausible import MOST_GRADE, is_plain_number
from ndcg_ab.sources.tables.schema import Layout

ESCI = {"E": 3, "S": 2, "C": 1, "I": 0}  # exact, substitute, complement, irrelevant: Amazon's shopping queries
MOST_WORDS = 20  # more different texts are no grades


def with_grade_words(layout: Layout, *entries: JudgmentSource | None) -> Layout:
    """Return the layout with the number for each grade that is a word, such as ``relevant`` -> 1.

    The mapping word -> number is that of the first entry that has one. If no entry has one, the layout is returned
    unchanged.
    """
    mappings = (entry.grades for entry in entries if entry is not None and isinstance(entry.grades, dict))
    return dataclasses.replace(layout, words=tuple(words.items())) if (words := next(mappings, None)) else layout


def as_texts(layout: Layout) -> Layout:
    """Return the layout with grades as texts, for judgments with grades in words."""
    fields = (dataclasses.replace(each, type=pa.string(), is_word=True) for each in layout.fields[2:3])
    return dataclasses.replace(layout, fields=(*layout.fields[:2], *fields, *layout.fields[3:]))


def replace_words(table: pa.Table, layout: Layout, source: Source) -> pa.Table:
    """Return the judgments with grades in words replaced by their numbers.

    A text that is a number stays that number, unless the layout gives a number for it as well. Raises InputError for an
    unknown word, with its location.
    """
    words = dict(layout.words)
    by_number = {float(word): number for word, number in words.items() if is_plain_number(word)}
    encoded = pc.dictionary_encode(table["grade"].cast(pa.string()).combine_chunks())
    numbers = []
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        word = text.strip()
        if word not in words and not is_plain_number(word):
            row = pc.index(encoded.indices, code).as_py()
            where = source.locate(table, layout, *(table[name][row].as_py() for name in ("query_id", "doc_id")))
            raise InputError(
                f"{where}: grade = {format_value(text)}: must be a number or a word that has one"
                f" ({', '.join(words)}): add {format_value(word)} to the grades"
            )
        numbers.append(words[word] if word in words else by_number.get(float(word), float(word)))
    index = table.schema.get_field_index("grade")
    return table.set_column(index, "grade", pa.array(numbers, pa.float64()).take(encoded.indices))


def grade_words_hint(described: Any, source: Source, layout: Layout, pull: PullRequest) -> str:
    """Return the advice on how to give numbers to grades in words; empty if more than MOST_WORDS words occur.

    So many words are hardly grades. The judgments are read once more, with grades as texts.
    """
    texts = pc.unique(source.answer(as_texts(layout), pull).table["grade"].cast(pa.string())).to_pylist()
    words = sorted({text.strip() for text in texts if not is_plain_number(text.strip())})
    if len(words) > MOST_WORDS:
        return ""
    is_esci = {*words} == {*ESCI}
    numbers = {word: str(number) for word, number in ESCI.items()} if is_esci else dict.fromkeys(words, "NUMBER")
    if getattr(described, "in_memory", None) is not None:
        option = f"grades={{{', '.join(f'{word!r}: {number}' for word, number in numbers.items())}}}"
    else:
        option = f"--grades {shlex.quote(','.join(f'{word}={number}' for word, number in numbers.items()))}"
        keys = ", ".join(f"{word}: {number}" for word, number in numbers.items())
        option += f" (in a configuration grades: {{{keys}}})"
    return f"; these are the labels of ESCI: say {option}" if is_esci else f"; every word needs a number: {option}"


MOST_RATINGS = 10  # different ratings that users give, and the highest of them
FIRST_ROWS = 1_000  # usually enough of them to see more documents than that


def refuse_ratings(pulled: Pulled) -> None:
    """Raise InputError if a grade is beyond ±1,000, or if documents and grades seem to be swapped."""
    table = pulled.table
    worst = max(pc.min_max(table["grade"]).as_py().values(), key=abs)
    if abs(worst) > MOST_GRADE:
        problem = f"grade = {worst:.15g}: must be from -{MOST_GRADE:,} to {MOST_GRADE:,}"
        remedy = "divide every grade by one number"
    elif worst > MOST_RATINGS and has_ids_as_grades(table):
        problem = f"all documents are numbers from 0 to {MOST_RATINGS}, and grades go up to {worst:g}"
        remedy = "put a letter before every document id, in rankings too"
    else:
        return
    worst_pair = (table[name][pc.index(table["grade"], worst).as_py()].as_py() for name in ("query_id", "doc_id"))
    raise InputError(
        f"{pulled.locate(*worst_pair)}: {problem}. If these are ratings (user, item, rating, time), items are the"
        " documents and ratings the grades: put the names query_id,doc_id,grade above their columns. If they are"
        f" judgments, {remedy}"
    )


def has_ids_as_grades(table: pa.Table) -> bool:
    """Return whether document ids and grades seem to be swapped.

    This is so if there are at most ten distinct documents, all of them numbers from 0 to 10, and more distinct grades,
    all of them integers.
    """
    if len(pc.unique(table["doc_id"].slice(0, FIRST_ROWS))) > MOST_RATINGS:
        return False
    documents, grades = pc.unique(table["doc_id"]), pc.unique(table["grade"])
    are_numbers = all(is_plain_number(each) and 0 <= float(each) <= MOST_RATINGS for each in documents.to_pylist())
    are_whole = bool(pc.all(pc.equal(grades, pc.floor(grades))).as_py())
    return are_numbers and are_whole and len(grades) > len(documents)
