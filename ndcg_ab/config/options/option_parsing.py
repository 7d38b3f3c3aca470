"""What is written in an option of `ndcg-ab compare`: NAME=FILE, METRIC=DIFFERENCE and similar, as values."""

import math
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.config.loading.hints import alpha_meant, is_number, plain_number
from ndcg_ab.config.model.by_metric import ALL, FIRST
from ndcg_ab.config.model.costs import OF_A_COST, OWN_UNIT
from ndcg_ab.errors import InputError
from ndcg_ab.finding_codes import CODES
from ndcg_core.measures.notation import split_metrics


def parse_system(text: str) -> tuple[str, str]:
    """NAME and FILE of ``--system NAME=FILE``."""
    name, equals, file = text.partition("=")
    if not equals or not name or not file:
        raise InputError(f"--system {text!r}: must be NAME=FILE, such as new=runs/new.run.gz")
    return name, file


def parse_systems(_option: str, systems: Sequence[tuple[Any, ...] | str]) -> list[dict[str, Any]]:
    """Return the entries of systems, each of which is (name, file), (name, file, parts) or a text NAME=FILE."""
    found = (parse_system(each) if isinstance(each, str) else each for each in systems)
    return [dict(zip(("name", "file", "parts"), each, strict=False)) for each in found]


def parse_scores(_option: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Each as FILE or NAME=FILE; a file of the very name is a file."""
    found = []
    for text in texts:
        name, equals, file = text.partition("=")
        is_named = bool(equals and name and file) and not Path(text).exists()
        found.append({"system": name, "file": file} if is_named else {"file": text})
    return found


def parse_columns(option: str, text: str | None) -> dict[str, str]:
    """field -> column of ``query_id=qid,doc_id=url``."""
    found = {}
    for part in (text or "").split(","):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if part.strip():
            if not equals or not field or not column:
                raise InputError(f"{option} {text!r}: must be FIELD=COLUMN, with commas between")
            if field in found:
                raise InputError(f"{option} {text!r}: {field} is named twice")
            found[field] = column
    return found


def parse_grades(option: str, text: str) -> dict[str, float]:
    """word -> number of ``E=3,S=2``."""
    found: dict[str, float] = {}
    for part in text.split(","):
        word, equals, number = (piece.strip() for piece in part.rpartition("="))
        if not equals or not word or not is_number(number):
            raise InputError(f"{option} {text!r}: must be WORD=NUMBER, with commas between, such as E=3,S=2,C=1,I=0")
        if word in found:
            raise InputError(f"{option} {text!r}: {word} is named twice")
        found[word] = float(number)
    return found


def parse_margin(option: str, text: str) -> tuple[str, float]:
    """Metric and number of ``METRIC=D``; a metric may have ``=`` in its choices."""
    metric, equals, number = text.rpartition("=")
    if not equals or not metric or ")" in number:
        plain = text.strip("= ")
        if OF_A_COST.fullmatch(plain):
            raise InputError(
                f"{option} {text!r}: must be COST@STATISTIC=DIFFERENCE; say {option} {plain}=20 for 20 more"
            )
        example = "such as recall@100=0.01" if is_number(text) else f"say {option} {plain}=0.01"
        raise InputError(f"{option} {text!r}: must be METRIC=DIFFERENCE; {example} for a difference of 0.01")
    if OF_A_COST.fullmatch(metric) and not is_number(number):
        raise InputError(f"{option} {text!r}: {number!r} must be a number above 0, {OWN_UNIT}")
    return metric, parse_number(option, text, number)


def parse_margins(option: str, texts: Sequence[str]) -> dict[str, float]:
    found = dict(parse_margin(option, text) for text in texts)
    if len(found) < len(texts):
        raise InputError(f"{option}: a metric is named twice in {', '.join(texts)}")
    return found


def parse_smallest_effect(option: str, texts: Sequence[str]) -> float | dict[str, float]:
    """One for every metric, or one for each that is named; InputError for a mixture."""
    if len(texts) == 1 and "=" not in re.sub(r"\(.*\)", "", texts[0]):
        return parse_number(option, texts[0], texts[0])
    return parse_margins(option, texts)


def parse_gate(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the gate of conditions: ``proof``, one of `SINGLE_GATES` such as ``judged=0.8``, ``METRIC=DIFFERENCE``."""
    found: dict[str, Any] = {PROOF: True} if PROOF in texts else {}
    texts = [text for text in texts if text != PROOF]
    margins = [text for text in texts if text.partition("=")[0] not in SINGLE_GATES]
    for text in texts:
        key, equals, value = text.partition("=")
        if key in SINGLE_GATES:
            if not equals or not value:
                raise InputError(f"{option} {text!r}: must be {key}=NUMBER")
            found[key] = SINGLE_GATES[key](option, text, value)
    return found | ({"not_worse": parse_margins(option, margins)} if margins else {})


def parse_severities(option: str, texts: Sequence[str]) -> dict[str, str]:
    """code -> severity of ``few_judged=ignore``; what neither is, is refused where all of the evaluation is."""
    found: dict[str, str] = {}
    for text in texts:
        code, equals, severity = text.partition("=")
        if not equals or not code or not severity:
            known = f"{text}=ignore" if text in CODES else "few_judged=ignore"
            raise InputError(f"{option} {text!r}: must be CODE=SEVERITY; such as {known}")
        if code in found:
            raise InputError(f"{option}: {code} is named twice")
        found[code] = severity
    return found


def parse_share(option: str, text: str, number: str) -> float:
    if is_number(number):
        return float(number)
    raise refusal_text(option, text, number, "must be a number")


def parse_count(option: str, text: str, number: str) -> int:
    if not number.isdecimal():
        raise InputError(f"{option} {text!r}: {number!r} must be a whole number from 0 up")
    return int(number)


def parse_number(option: str, text: str, number: str) -> float:
    if is_number(number) and 0 < float(number) < math.inf:
        return float(number)
    raise refusal_text(option, text, number, "must be a number above 0")


def refusal_text(option: str, text: str, number: str, rule: str) -> InputError:
    """What is said of a number that breaks a rule, with the one that was meant where it can be told."""
    meant = plain_number(number)
    hint = f"; say {option} {text.removesuffix(number)}{meant}" if meant else ""
    return InputError(f"{option} {text!r}: {number!r} {rule}{hint}")


def parse_alpha(option: str, value: str | float) -> float:
    """A threshold; what is out of the range is refused where all of the evaluation is."""
    text = str(value)
    if not is_number(text):
        meant = plain_number(text)
        hint = f"; say {option} {alpha_meant(float(meant)) or meant}" if meant else ""
        raise InputError(f"{option} {text!r}: must be a number{hint}")
    return float(text)


def parse_metrics(option: str, texts: Sequence[str]) -> list[str]:
    for text in texts:
        if len(several := split_metrics(text)) > 1:
            each = " ".join(f"{option} {shlex.quote(metric)}" for metric in several)
            raise InputError(f"{option} {text!r}: names {len(several)} metrics; give each by itself: {each}")
    return list(texts)


def parse_primary(option: str, texts: Sequence[str]) -> list[str] | str:
    """The metrics that decide; ``all``, or ``first``, alone: those of --metric."""
    return texts[0] if list(texts) in ([ALL], [FIRST]) else parse_metrics(option, texts)


PROOF = "proof"  # guardrails must be shown to hold
SINGLE_GATES: dict[str, Callable[[str, str, str], Any]] = {
    "scored": parse_share,
    "judged": parse_share,
    "unanswered": parse_count,
    "slice_regression": parse_share,
}


def as_given(_option: str, value: Any) -> Any:
    return value


def as_list(_option: str, values: Sequence[str]) -> list[str]:
    return list(values)


def negate(_option: str, value: bool) -> bool | None:
    """False for a flag such as ``--unweighted``; None, which is not given, without it."""
    return False if value else None
