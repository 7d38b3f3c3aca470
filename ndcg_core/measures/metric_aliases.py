"""What other tools call a metric, so that a name from there is answered with ours."""

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
    "ndcg_cut": "ndcg",
    "mean_ndcg": "ndcg",
    "success": "accuracy",
    "hit": "accuracy",
    "hits": "accuracy",
    "hit_rate": "accuracy",
    "hitrate": "accuracy",
    "judged_at": "judged",
    "map": "ap",
    "map_cut": "ap",
    "average_precision": "ap",
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


NAMED = re.compile(
    r"\s*([a-z][a-z_]*?|f1)(?:\s*[@_. ]?\s*([0-9]+))?\s*"
)  # a name and a cutoff, as other tools write them


def translate_name(text: str) -> str | None:
    """``precision@10`` for ``P_10``: the metric of ours that a name means elsewhere; None where there is none."""
    found = NAMED.fullmatch(text.lower().replace("-", "_"))
    name = found and OURS.get(found[1], found[1] if found[1] in MEASURES else None)
    if not found or not name:
        return None
    return f"{name}@{int(found[2])}" if found[2] and MEASURES[name].has_cutoff else name


def translation_hint(text: str) -> str:
    """``is written 'precision@10' here`` for ``P_10``; empty for a name of ours, and for one that no tool has."""
    if found := re.fullmatch(r"\s*rbp\s*\.\s*([0-9]+)\s*", text.lower()):
        return f"is written 'rbp(p=0.{found[1]})' here"
    found = NAMED.fullmatch(text.lower().replace("-", "_"))
    if found is None or (re.fullmatch(r"\s*[a-z]+\s*(@\s*[0-9]+\s*)?", text.lower()) and found[1] in MEASURES):
        return ""
    if found[1] in NEAREST:
        words, nearest = NEAREST[found[1]]
        at = f"@{int(found[2])}" if found[2] else ""
        return f"{words} is not computed here; the nearest is {nearest + at!r}"
    ours = translate_name(text)
    return f"is written {ours!r} here" if ours else ""
