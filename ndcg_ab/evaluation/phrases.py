"""Words and numbers in the sentences of an evaluation: findings, gates, obstacles."""

# Names of families of comparisons.
PRIMARY, SECONDARY, GUARDRAILS, GATE, PAIRS = "primary", "secondary", "guardrails", "gate", "all pairs"
MAIN = (PRIMARY, SECONDARY, GUARDRAILS)
LARGE = 1e9  # from here on (of dcg and cg with huge gains) digits are counted, not written


def signed(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:+.4f}" if abs(value) < LARGE else f"{value:+.4e}"


def queries_text(count: int, kind: str = "") -> str:
    """``1 judged query``, ``2 judged queries``."""
    return f"{count} {kind and kind + ' '}quer{'y' if count == 1 else 'ies'}"
