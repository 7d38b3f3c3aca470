"""Words and numbers in the sentences of an evaluation: findings, gates, obstacles."""

# Names of families of comparisons.
PRIMARY, SECONDARY, GUARDRAILS, GATE, PAIRS = "primary", "secondary", "guardrails", "gate", "all pairs"
SLICE_GATE = "slice gate"  # all slices over all attributes together, for the gate on them
INTENDED, OTHERS = "intended", "others"  # the family of the queries that a change was meant for, and its two parts
MAIN = (PRIMARY, SECONDARY, GUARDRAILS)
FEW_JUDGED = 0.8  # below this share of judged results the unjudged ones can hide or fake a difference
LARGE = 1e9  # from here on (of dcg and cg with huge gains) digits are counted, not written


def signed(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:+.4f}" if abs(value) < LARGE else f"{value:+.4e}"


def percent_below(share: float, limit: float) -> str:
    """A share in percent, with as many decimals as show that it is below the limit: ``79.8 %`` below 80 %."""
    for decimals in range(6):
        text = f"{100 * share:.{decimals}f}"
        if float(text) < 100 * limit:
            return f"{text} %"
    return f"{100 * share:.6g} %"


def queries_text(count: int, kind: str = "") -> str:
    """``1 judged query``, ``2 judged queries``."""
    return f"{count} {kind and kind + ' '}quer{'y' if count == 1 else 'ies'}"
