"""Match columns by name, and check that their values are plausible: no form is recognised by a name alone."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import groupby, pairwise

# Field -> the names of its column in other tools, in small letters and digits alone, the likeliest first.
NAMES = {
    "query_id": ("queryid", "qid", "topicid", "topic", "searchid", "query", "querytext", "q", "user", "userid"),
    "doc_id": (
        *("docno", "docid", "corpusid", "did", "documentid", "document", "doc", "pid", "passageid", "productid"),
        *("product", "itemid", "item", "movieid", "sku", "asin", "url", "id"),
    ),
    "grade": ("rating", "relevance", "grade", "label", "escilabel", "rel", "judgment", "judgement", "gain", "rated"),
    "score": ("score", "similarity", "relevancescore", "sim", "bm25", "value"),
    "rank": ("rank", "position", "pos", "place", "docposition"),
    "id": ("id",),  # of a query, in a file of queries
    "text": ("text", "querytext", "query", "question"),
    "system_id": ("systemid", "system", "systemname", "runid", "run", "runname", "runtag", "tag", "model", "engine"),
    "documents": ("predictions", "prediction", "documents", "docids", "docs", "results", "ranking"),
}


def bare_name(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def field_column(field: str, names: Sequence[str]) -> str | None:
    """Return the column of a field: the field's own name, or a name that other tools use, or None."""
    if field in names:
        return field
    by_bare = {bare_name(name): name for name in reversed(names)}
    return next((by_bare[name] for name in NAMES.get(field, ()) if name in by_bare), None)


def query_column(names: Sequence[str]) -> str | None:
    """Return the column with the query ids in a file with one row per query, or None."""
    return field_column("query_id", names) or field_column("id", names)


def match_columns(fields: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Return the mapping field -> column for the fields that have a column; no column serves two fields.

    names: the columns of the table.
    """
    matches: dict[str, str] = {}
    for field in fields:
        column = field_column(field, [name for name in names if name not in matches.values()])
        if column is not None:
            matches[field] = column
    return matches


def guess_column(field: str, names: Iterable[str]) -> str | None:
    """Return the column that a message proposes for a field, by a known or a similar name, or None."""
    columns = list(names)
    by_bare = {bare_name(name): name for name in reversed(columns)}
    near = get_close_matches(bare_name(field), by_bare, n=1, cutoff=0.7)
    return field_column(field, columns) or (by_bare[near[0]] if near else None)


# ---- values


PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", flags=re.ASCII)
NO_GRADE = ("NA", "N/A", "n/a", "-", "null", "NULL", "None", "nan")  # words for none, if no number is named for them
MOST_GRADE = 1_000  # a higher number is a time, an id or a count
MOST_GRADES = 20  # different grades in a hundred lines
FIRST_TIME, LAST_TIME = 100_000_000, 10_000_000_000_000  # seconds since 1970: 1973; milliseconds: 2286


def is_plain_number(text: str) -> bool:
    return PLAIN_NUMBER.fullmatch(text) is not None


def numbers(values: Iterable[str], decimal: str = ".") -> list[float] | None:
    """Return the values as floats, or None if there are no values or one is no number.

    decimal: the decimal sign.
    """
    texts = [value.strip().replace(decimal, ".") for value in values]
    return [float(text) for text in texts] if texts and all(map(is_plain_number, texts)) else None


def rated_values(values: Iterable[str]) -> list[str]:
    """Return the values that are neither empty nor a word for "no grade"."""
    return [value for value in values if value.strip() and value.strip() not in NO_GRADE]


def are_grades(values: Sequence[str], decimal: str = ".") -> bool:
    """Return whether values are plausible grades: few distinct small numbers or words; empty values are ignored.

    decimal: the decimal sign.
    """
    texts = rated_values(values)
    grades = numbers(texts, decimal)
    if grades is None:
        return bool(texts) and len(set(texts)) <= MOST_GRADES and not any(" " in value.strip() for value in texts)
    return len(set(grades)) <= MOST_GRADES and max(map(abs, grades)) <= MOST_GRADE


def are_ranks(query_ids: Sequence[str], values: Sequence[str]) -> bool:
    """Return whether values count up from 0 or 1 within each query, and at least one query has several values."""
    parsed = numbers(values)
    if parsed is None:
        return False
    groups = groupby(zip(query_ids, parsed, strict=True), lambda row: row[0])
    queries = [[rank for _, rank in rows] for _, rows in groups]
    are_counting = all(ranks[0] in (0, 1) and ranks == [ranks[0] + at for at in range(len(ranks))] for ranks in queries)
    return are_counting and max(map(len, queries)) > 1


def are_times(values: Sequence[str]) -> bool:
    """Return whether values are plausible as seconds or milliseconds since 1970."""
    times = numbers(values)
    return times is not None and min(times) >= FIRST_TIME and max(times) <= LAST_TIME


def are_falling(query_ids: Sequence[str], values: Sequence[float]) -> bool:
    """Return whether values never rise from one row of a query to the next, and fall at least once."""
    rows = pairwise(zip(query_ids, values, strict=True))
    pairs = [(before, after) for (query_id, before), (other, after) in rows if query_id == other]
    return all(after <= before for before, after in pairs) and any(after < before for before, after in pairs)


# ---- names of measures


TREC_EVAL = re.compile(
    r"(gm_)?(map|bpref|ndcg|ndcg_rel|infap|11pt_avg|utility|Rprec|Rprec_mult|Rndcg|recip_rank|success|binG|G|P|recall"
    r"|relative_P|iprec_at_recall|ndcg_cut|map_cut|set_\w+|num_\w+|rel\w*|ret\w*|runid|relstring|yaap)([_.]\S*)?",
)
IR_MEASURES = re.compile(
    r"(AP|nDCG|P|R|RR|MRR|MAP|ERR|RBP|BPM|INST|INSQ|SDCG|Rprec|Bpref|Judged|Success|Accuracy|SetP|SetR|SetF|SetRelP"
    r"|SetAP|IPrec|infAP|NumQ|NumRel|NumRet|NERR\d*|alpha_DCG|alpha_nDCG|AP_IA|ERR_IA|nERR_IA|NRBP|nNRBP|P_IA"
    r"|StRecall|Compat)(\(.*\))?(@\S+)?",
)
OTHER_MEASURES = re.compile(r"(ndcg|dcg|map|mrr|rr|precision|recall|hit_rate|hits|f1)(@\d+)?", re.IGNORECASE)  # ranx


def are_measures(names: Iterable[str]) -> bool:
    """Return whether all names are measures of trec_eval, ir_measures or ranx."""
    measures = [*names]
    patterns = (TREC_EVAL, IR_MEASURES, OTHER_MEASURES)
    return bool(measures) and all(any(pattern.fullmatch(name) for pattern in patterns) for name in measures)
