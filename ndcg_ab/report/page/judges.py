"""What the page says of several judges."""

from typing import Any

from ndcg_ab.report.sections.judges import (
    format_agreement,
    format_judges_line,
    format_noise,
    format_noise_interval,
    group_by_comparison,
    judge_name,
)
from ndcg_ab.report.words.text import function_note
from ndcg_ab.results.outcome import Outcome


def judge_template_functions(outcome: Outcome) -> dict[str, Any]:
    """What `judges.html` calls; nothing is shown where there are not several judges."""
    judges = outcome.judges
    return {
        "judges": judges,
        "function_note": function_note(outcome),
        "judges_line": format_judges_line(outcome),
        "agreement": format_agreement(judges) if judges else "",
        "under_judges": [row for rows in group_by_comparison(judges) for row in rows] if judges else [],
        "judge_noise": [format_noise(row) for row in judges.noise] if judges else [],
        "judge_name": judge_name,
        "judge_interval": format_noise_interval,
    }
