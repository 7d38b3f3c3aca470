"""What the page says of several judges."""

from typing import Any

from ndcg_ab.report.sections.judges import agreement_text, by_comparison, interval_text, judges_line, named, noise_text
from ndcg_ab.report.words.text import function_note
from ndcg_ab.results.outcome import Outcome


def words_of_judges(outcome: Outcome) -> dict[str, Any]:
    """What `judges.html` calls; nothing is shown where there are not several judges."""
    judges = outcome.judges
    return {
        "judges": judges,
        "function_note": function_note(outcome),
        "judges_line": judges_line(outcome),
        "agreement": agreement_text(judges) if judges else "",
        "under_judges": [row for rows in by_comparison(judges) for row in rows] if judges else [],
        "judge_noise": [noise_text(row) for row in judges.noise] if judges else [],
        "judge_name": named,
        "judge_interval": interval_text,
    }
