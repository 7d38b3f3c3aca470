"""What a code of a finding means and what to do about it, in words: `ndcg-ab findings`, and the page."""

import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ndcg_ab.errors import InputError
from ndcg_ab.finding_codes import CODES, unknown_code
from ndcg_ab.results.severity import Severity


def print_codes(console: Console) -> None:
    """Every code with its usual severity, a line for each."""
    width = max(map(len, CODES))
    for code, entry in CODES.items():
        head = Text.assemble(f"{code:{width}}  ", (f"{entry.severity:7}", Severity(entry.severity).traits.colour))
        console.print(head.append(f"  {entry.means.partition('. ')[0].rstrip('.')}"), highlight=False, overflow="fold")


def codes_to_json(codes: Sequence[str]) -> str:
    """The codes, by default all; InputError for one that nobody knows."""
    for code in codes:
        refuse_unknown(code)
    entries = [{"code": code, **CODES[code]._asdict()} for code in codes or CODES]
    return json.dumps({"schema": 1, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


def refuse_unknown(code: str) -> None:
    if code not in CODES:
        raise InputError(unknown_code(code))


def print_entry(console: Console, code: str) -> None:
    """What one code means, and what to do; InputError for one that nobody knows."""
    refuse_unknown(code)
    entry = CODES[code]
    console.print(Text.assemble((code, "bold"), ": ", (entry.severity, Severity(entry.severity).traits.colour)))
    console.print(entry.means, highlight=False, markup=False)
    console.print(f"What to do: {entry.advice}", highlight=False, markup=False)
    if entry.is_fixed:
        console.print("Always an error: no severity can be set.", highlight=False)
    else:
        console.print(f"Another severity: --finding {code}=ignore, or `findings: {{{code}: ignore}}`", highlight=False)
