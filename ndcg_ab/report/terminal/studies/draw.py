"""What `ndcg-ab draw` prints: what was drawn from, what the drawn queries can settle, and what to do with them."""

import json
from collections.abc import Iterator
from pathlib import Path

from ndcg_ab.results.wording import queries_text
from ndcg_ab.studies.draw import DrawStudy
from ndcg_ab.studies.power import format_figure


def draw_sentences(study: DrawStudy, written: Path | None, *, is_command: bool = True) -> Iterator[str]:
    """Population, sample, plan; written: the file that holds the queries, for the command that comes next.

    is_command: whether the reader typed a command, which options can be named to.
    """
    same = study.queries - study.changed
    top = "results" if study.places is None else f"top {study.places}"
    yield (
        f"{study.queries:,} queries: of {same:,} every system shows the same {top}, {study.changed:,}"
        f" {'differs' if study.changed == 1 else 'differ'}"
    )
    yield ", ".join(drawn_parts(study))
    yield from plan_sentences(study)
    if study.left_out:
        kept = "--slice" if is_command else "slices"
        yield f"columns of the log that are left out: {', '.join(study.left_out)} ({kept} keeps one)"
    if not is_command:
        return
    if written is None:
        yield "keep them for the comparison: --output-file drawn.tsv"
    else:
        yield f"judge them, then: ndcg-ab compare JUDGMENTS BASELINE CANDIDATE --queries {written}"


def study_to_json(study: DrawStudy) -> str:
    """Counts and plan, by the names of `DrawStudy` and `DrawPlan`."""
    counts = {name: getattr(study, name) for name in ("queries", "changed", "drawn", "kept", "gone", "places")}
    content = {"schema": 1, **counts, "plan": study.plan._asdict()}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def drawn_parts(study: DrawStudy) -> Iterator[str]:
    every = study.drawn == study.changed
    yield f"{study.drawn:,} drawn" + (": all that differ" if every else "")
    if study.kept:
        yield f"{study.kept:,} of them by the earlier draw"
    if study.gone:
        yield f"{study.gone:,} of that draw left out, which the log does not hold"


def plan_sentences(study: DrawStudy) -> Iterator[str]:
    plan = study.plan
    supposed = ", a guess: --deviation, --judgments" if plan.is_supposed else ""
    supposed = f", by {queries_text(plan.judged, 'judged')}" if plan.judged else supposed
    power = f"{100 * plan.power:g} % power"
    if plan.detected is not None:
        yield (
            f"they detect a difference of {format_figure(plan.detected)} ({power}, standard deviation over all queries"
            f" {format_figure(plan.deviation)}{supposed})"
        )
    drawn = f"more than the {study.changed:,} that differ" if plan.drawn is None else f"{plan.drawn:,} drawn queries"
    random = f"more than all {study.queries:,}" if plan.random is None else f"{plan.random:,}"
    yield f"a difference of {plan.effect:g} takes {drawn}; a random sample would need {random}"
