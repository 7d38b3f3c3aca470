"""Write the phrases that findings, gates and verdicts share."""

from ndcg_ab.results.numbers import signed
from ndcg_core.statistics.verdicts.record import Labels

# Names of families of comparisons.
PRIMARY, SECONDARY, GUARDRAILS, GATE, PAIRS = "primary", "secondary", "guardrails", "gate", "all pairs"
SLICE_GATE = "slice gate"  # all slices over all attributes together, for the gate on them
INTENDED, OTHERS = "intended", "others"  # the family of the queries that a change was meant for, and its two parts
MAIN = (PRIMARY, SECONDARY, GUARDRAILS)
FEW_JUDGED = 0.8  # below this share of judged results the unjudged ones can hide or fake a difference
LEAD = 0.05  # shares of judged results that lie so far apart are told beside a verdict
SLACK = 1e-9


def queries_text(count: int, kind: str = "") -> str:
    """Return a number of queries in words: ``1 judged query``, ``2 judged queries``.

    kind: the word before "query", such as judged; empty for none.
    """
    return f"{count} {kind and kind + ' '}quer{'y' if count == 1 else 'ies'}"


def has_clear_lead(labels: Labels) -> bool:
    """Return whether the shares of judged results of two systems differ by at least `LEAD`."""
    return abs(labels.lead) >= LEAD - SLACK


def fully_judged_text(labels: Labels) -> str:
    """Return in words the difference on the queries on which every result of both systems is judged.

    Such as ``on the 12 queries judged fully for both -0.0049 (-0.1398 … +0.1301)``. If there are no such queries, the
    text says so.
    """
    if labels.full_difference is None:
        return "no query is judged fully for both"
    number = "one query" if labels.full_queries == 1 else f"{labels.full_queries} queries"
    return f"on the {number} judged fully for both {fully_judged_difference(labels)}"


def fully_judged_difference(labels: Labels) -> str:
    """Return the difference on fully judged queries with its interval: ``-0.0049 (-0.1398 … +0.1301)``.

    A dash if no query is fully judged. The interval is left out if it is unknown.
    """
    if labels.full_difference is None:
        return "–"
    between = f" ({signed(labels.full_low)} … {signed(labels.full_high)})" if labels.full_low is not None else ""
    return f"{signed(labels.full_difference)}{between}"
