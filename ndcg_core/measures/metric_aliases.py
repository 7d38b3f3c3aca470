"""What other tools and papers call a metric: their names are read, and ours is written.

The value of a query is that of the tool, but where trec_eval takes scores for equal that differ in their last digits
alone (it compares 32-bit floats); a query without anything relevant is left out of our mean, and scores 0 in its.
"""

import re

from ndcg_core.measures.registry import MEASURES

# As trec_eval, ir_measures, ranx, pytrec_eval and papers have it, in small letters -> the measure here.
OURS = {
    "p": "precision",
    "prec": "precision",
    "set_p": "precision",
    "r": "recall",
    "set_recall": "recall",
    "mrr": "rr",
    "recip_rank": "rr",
    "reciprocal_rank": "rr",
    "mean_reciprocal_rank": "rr",
    "ndcg_cut": "ndcg",
    "mean_ndcg": "ndcg",
    "success": "accuracy",
    "hit": "accuracy",
    "hits": "accuracy",
    "hit_rate": "accuracy",
    "hitrate": "accuracy",
    "hit_ratio": "accuracy",
    "hr": "accuracy",
    "map": "ap",
    "map_cut": "ap",
    "average_precision": "ap",
    "mean_average_precision": "ap",
    "r_prec": "rprec",
    "r_precision": "rprec",
    "inf_ap": "infap",
    "b_pref": "bpref",
}
# What ir_measures calls a choice -> the choice here: AP(rel=2)@100 and RBP(p=0.9) are read as they are.
SHORT = {"rel": "relevant_from", "p": "persistence"}
# Not computed here -> its name in words, and the nearest that is.
NEAREST = {
    "gm_map": ("the geometric mean of average precision", "ap"),
    "f1": ("F1", "precision"),
    "set_f": ("F1", "precision"),
}

# A name and a cutoff: P@10, P_10, ndcg_cut.10, ndcg10, ndcg_at_10.
NAMED = re.compile(r"\s*([a-z][a-z_]*?|f1)(?:(?:_at)?\s*[@_. ]?\s*([0-9]+))?\s*")
CHOSEN = re.compile(r"(\s*)([A-Za-z][A-Za-z0-9_-]*)(\s*\(.*)", flags=re.DOTALL)  # a name and its choices
PERSISTENCE = re.compile(r"\s*rbp\s*\.\s*([0-9]+)\s*")


def translate_name(text: str) -> str | None:
    """``precision@10`` for ``P_10``: the metric of ours that a name means elsewhere; None where there is none."""
    found = NAMED.fullmatch(text.lower().replace("-", "_"))
    name = translate_measure(found[1]) if found else ""
    if not found or name not in MEASURES:
        return None
    return f"{name}@{int(found[2])}" if found[2] and MEASURES[name].has_cutoff else name


def translate(text: str) -> str:
    """A metric as it is written here, ``precision@10`` for ``P_10``, ``ap(rel=2)`` for ``MAP(rel=2)``; else as it is.

    A name that is ours as it stands is nobody else's.
    """
    if found := PERSISTENCE.fullmatch(text.lower()):
        return f"rbp(p=0.{found[1]})"
    if found := CHOSEN.fullmatch(text):
        return f"{found[1]}{translate_measure(found[2])}{found[3]}"
    return text if is_ours(text) or translation_hint(text) else translate_name(text) or text


def translate_measure(name: str) -> str:
    """``precision`` for ``P``; a name of ours, and one that no tool has, in small letters."""
    plain = name.lower().replace("-", "_")
    return plain if plain in MEASURES else OURS.get(plain, plain)


def is_ours(text: str) -> bool:
    """Whether a text is a name of ours as it stands, but for capitals."""
    found = re.fullmatch(r"\s*([a-z][a-z0-9_]*)\s*(@\s*[0-9]+\s*)?", text.lower())
    return found is not None and found[1] in MEASURES


def translation_hint(text: str) -> str:
    """What is said of a name that means no metric of ours; empty for every other one."""
    found = NAMED.fullmatch(text.lower().replace("-", "_"))
    if found is None or is_ours(text):
        return ""
    at = f"@{int(found[2])}" if found[2] else ""
    if found[1] in NEAREST:
        words, nearest = NEAREST[found[1]]
        return f"{words} is not computed here; the nearest is {nearest + at!r}"
    ours = translate_name(text)
    return f"has no cutoff here: say {ours!r}" if ours and at and "@" not in ours else ""
