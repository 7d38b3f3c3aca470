"""The command that takes a prefix or an ending off the ids of a file, so that they meet those of the other."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ndcg_ab.sources import Pulled
from ndcg_ab.sources.files.hints import filter_command
from ndcg_ab.sources.forms.recognition import format_by_name

PLACES = {"query_id": "$1", "doc_id": "$3"}  # in a line of TREC, of judgments and of rankings alike
PLAIN = re.compile(r"""[!#-&(-\[\]-~]+""")  # what awk and a shell take as it is within their quotes


def meeting_ids(
    own: Mapping[str, frozenset[str]],
    judged: Mapping[str, frozenset[str]],
    respell_own: Callable[[str], str],
    respell_judged: Callable[[str], str],
) -> tuple[str, str]:
    """An id of each side, the first that are one when they are spelt so; query_id -> ids of both."""
    for query_id, ids in own.items():
        there = {respell_judged(each): each for each in sorted(judged.get(query_id, ()), reverse=True)}
        for each in sorted(ids):
            if respell_own(each) in there:
                return each, there[respell_own(each)]
    return "", ""


def mend_command(own: str, judged: str, ranking: Pulled, judgments: Pulled, field: str = "doc_id") -> str:
    """`` → awk '…' new.run > NEW``; nothing where the longer id has no prefix or ending, or is in no TREC file.

    own, judged: an id of the ranking and the same of the judgments, as they are spelt.
    """
    longer, shorter, pulled = (own, judged, ranking) if len(own) > len(judged) else (judged, own, judgments)
    place, size = PLACES[field], len(longer) - len(shorter)
    if not shorter or not size:
        return ""
    if longer.endswith(shorter):
        cut, where, left = longer[:size], f"substr({place}, 1, {size})", f"substr({place}, {size + 1})"
    elif longer.startswith(shorter):
        cut, left = longer[-size:], f"substr({place}, 1, length({place}) - {size})"
        where = f"substr({place}, length({place}) - {size - 1})"
    else:
        return ""
    path = Path(pulled.origin)
    if not PLAIN.fullmatch(cut) or format_by_name(path) != "trec" or not path.is_file():
        return ""
    return " → " + filter_command(path, f"awk '{where} == \"{cut}\" {{{place} = {left}}} 1'")
