"""List every code that a finding can have, with severity, meaning and advice (docs/findings.md).

Checks use these codes, the configuration rejects any other code, and `ndcg-ab findings` and the documentation list
them.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ndcg_ab.finding_codes.inputs import INPUT_CODES, Code
from ndcg_ab.finding_codes.rankings import RANKING_CODES

SEVERITIES = ("error", "warning", "note", "ignore")  # as a configuration writes them

CODES: Mapping[str, Code] = {**INPUT_CODES, **RANKING_CODES}


def unknown_code_message(code: str, codes: Iterable[str] = CODES) -> str:
    """Return the error message for a code of a finding that does not exist.

    It proposes the most similar existing code, if one is similar enough.
    codes: the existing codes.
    """
    near = get_close_matches(code, list(codes), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "`ndcg-ab findings` prints them all"
    return f"{code!r}: is no code of a finding; {hint}"


def check_severities(severities: Mapping[str, str], added: Iterable[str] = ()) -> dict[str, str]:
    """Return the configured severities of findings as a new dict.

    severities: code -> severity.
    added: the codes that extensions add.
    Raises ValueError for an unknown code or severity, and for a severity other than error if findings with this code
    are always errors.
    """
    for code, severity in severities.items():
        if code not in CODES and code not in added:
            raise ValueError(unknown_code_message(str(code)))
        if severity not in SEVERITIES:
            raise ValueError(f"{code} = {severity!r}: must be one of {', '.join(SEVERITIES)}")
        if code in CODES and CODES[code].is_fixed and severity != "error":
            raise ValueError(f"{code} = {severity!r}: is always an error: nothing can be computed in spite of it")
    return dict(severities)
