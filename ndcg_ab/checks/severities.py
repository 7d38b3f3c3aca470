"""How grave a finding is in one evaluation: `strict` and `findings` of its configuration, and what errors do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.severity import Severity


def apply_severities(findings: Sequence[Finding], evaluation: Evaluation) -> list[Finding]:
    """The findings as grave as the configuration has them, the gravest first."""
    chosen = [replace(finding, severity=chosen_severity(finding, evaluation)) for finding in findings]
    return sorted(chosen, key=lambda finding: Severity(finding.severity).traits.rank)


def chosen_severity(finding: Finding, evaluation: Evaluation) -> str:
    if finding.code in evaluation.findings:
        chosen = evaluation.findings[finding.code]
        return "ignored" if chosen == "ignore" else chosen
    return "error" if evaluation.strict and finding.severity == "warning" else finding.severity


def refuse_errors(
    findings: Sequence[Finding], evaluation: Evaluation, origins: Mapping[str, str] | None = None
) -> None:
    """InputError that names every finding which is an error in this evaluation; origins: system -> its place."""
    errors = [finding for finding in apply_severities(findings, evaluation) if finding.severity == "error"]
    if not errors:
        return
    lines = [finding_text(finding, (origins or {}).get(finding.system or "")) for finding in errors]
    usually = {(finding.code, finding.message) for finding in findings if finding.severity == "error"}
    if raised := list(dict.fromkeys(row.code for row in errors if (row.code, row.message) not in usually)):
        why = "strict makes warnings errors" if evaluation.strict else "the configuration makes it one"
        how = f"--finding {raised[0]}=warning, or `findings: {{{raised[0]}: warning}}`"
        lines.append(f"{why}; to go on all the same: {how}")
    raise InputError("\n".join(lines))


def finding_text(finding: Finding, origin: str | None) -> str:
    return f"{f'{origin}: ' if origin else ''}{finding.message} [{finding.code}]"
