"""Whether a change did what it was meant to do, in words and as a table."""

from ndcg_ab.comparing.intended import rows_of_candidate
from ndcg_ab.report.words.text import (
    format_interval,
)
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import INTENDED, OTHERS, queries_text, signed
from ndcg_core.statistics.verdicts.comparison import Comparison


def format_intended(outcome: Outcome, candidate: str, metric: str) -> str | None:
    """``moved 31 of the 40 queries it was meant for: +0.0312 (…), improved; and 212 of 300 others: …``

    None where no queries are named, and on other metrics than the primary ones.
    """
    parts = rows_of_candidate(outcome.intended, candidate, metric)
    if not parts:
        return None
    meant, others = parts.get(INTENDED), parts.get(OTHERS)
    told = []
    if meant:
        told.append(
            f"moved {meant.differing} of the {queries_text(meant.queries)} it was meant for{format_part(meant)}"
        )
    if others:
        head = f"{others.differing} of {others.queries} other{'s' * (others.queries != 1)}"
        told.append(f"{'and' if meant else 'moved'} {head}{format_part(others)}")
    return "; ".join(told)


def format_part(row: Comparison) -> str:
    between = f" {format_interval(row)}" if row.low is not None else ""
    return f": {signed(row.difference)}{between}, {row.short_verdict}"
