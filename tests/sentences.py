"""Sentences: the fields of a comparison that a verdict's sentence tells, and the sentence of a refusal."""

from collections.abc import Callable
from typing import Any

import pytest

from ndcg_ab.errors import InputError
from ndcg_core.statistics.verdicts.verdict import Obstacle, Size, Verdict

STARTS: dict[str, Verdict] = {
    "improved": Verdict.IMPROVED,
    "regressed": Verdict.REGRESSED,
    "equivalent": Verdict.EQUIVALENT,
    "undecided": Verdict.UNDECIDED,
    "identical": Verdict.IDENTICAL,
    "not testable": Verdict.NOT_TESTABLE,
    "not worse": Verdict.NOT_WORSE,
    "worse by more than": Verdict.MAY_BE_WORSE,
    "worse": Verdict.WORSE,
}


def fields_of_sentence(sentence: str) -> dict[str, Any]:
    """Return the conclusion, the size and the obstacle of a sentence, and whether it is underpowered."""
    conclusion = next(found for start, found in STARTS.items() if sentence.startswith(start))
    found: dict[str, Any] = {"conclusion": conclusion, "underpowered": " > " in sentence}
    if ", by more than" in sentence:
        found["size"] = Size.BY_MORE_THAN
    elif "smaller than" in sentence:
        found["size"] = Size.SMALLER_THAN
    if conclusion is Verdict.NOT_TESTABLE:
        found["obstacle"] = Obstacle.FEW_QUERIES
        found["least_queries"] = int(sentence.partition("fewer than ")[2].rstrip(")") or 2)
    return found


def refusal_text(function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Call a function, and return the one line of the InputError that it raises."""
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
