"""Make findings with examples, and apply the severities of an evaluation (`strict`, `findings`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding, Severity
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.on_disk import select_queries


def apply_severities(findings: Sequence[Finding], evaluation: Evaluation) -> list[Finding]:
    """Return the findings with the configured severities, the most severe first."""
    chosen = [replace(finding, severity=chosen_severity(finding, evaluation)) for finding in findings]
    return sorted(chosen, key=lambda finding: Severity(finding.severity).traits.rank)


def chosen_severity(finding: Finding, evaluation: Evaluation) -> str:
    """Return the severity of a finding after the configuration keys `findings` and `strict` are applied."""
    if finding.code in evaluation.findings:
        chosen = evaluation.findings[finding.code]
        return "ignored" if chosen == "ignore" else chosen
    return "error" if evaluation.strict and finding.severity == "warning" else finding.severity


def refuse_errors(
    findings: Sequence[Finding], evaluation: Evaluation, origins: Mapping[str, str] | None = None
) -> None:
    """Raise InputError if a finding has severity error; the message lists all such findings.

    origins: system -> its source, which the message names.
    """
    errors = [finding for finding in apply_severities(findings, evaluation) if finding.severity == "error"]
    if not errors:
        return
    prefixes = {system: f"{origin}: " for system, origin in (origins or {}).items()}
    lines = [f"{prefixes.get(finding.system or '', '')}{finding.message} [{finding.code}]" for finding in errors]
    usually = {(finding.code, finding.message) for finding in findings if finding.severity == "error"}
    if raised := list(dict.fromkeys(row.code for row in errors if (row.code, row.message) not in usually)):
        why = "strict makes warnings errors" if evaluation.strict else "the configuration makes it one"
        options = " ".join(f"--finding {code}=warning" for code in raised)
        keys = ", ".join(f"{code}: warning" for code in raised)
        lines.append(f"{why}; to go on all the same: {options}, or `findings: {{{keys}}}`")
    raise InputError("\n".join(lines))


MOST = 5
LOCATED = 5_000  # rows of a table up to which finding the line of an example is fast


def make_finding(
    code: str,
    message: str,
    count: int,
    system: str | None = None,
    metric: str | None = None,
    value: float | None = None,
    examples: tuple[str, ...] = (),
    severity: str | None = None,
) -> Finding:
    """Return a finding, by default with the severity that its finding code has in `CODES`.

    severity: another severity, or None. value: a number whose meaning depends on the finding code, such as a share.
    """
    return Finding(code, severity or CODES[code].severity, message, count, system, metric, value, examples)


def id_examples(ids: Sequence[str], noun: str = "query") -> tuple[str, ...]:
    """Return the first ids as examples, such as ``query 'q1'``; noun: what they name."""
    return tuple(f"{noun} {format_value(each)}" for each in ids[:MOST])


def row_examples(pulled: Pulled, ids: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return at most five examples as texts, such as ``run.txt, line 7: query 'q1', document 'd3'``.

    Examples from tables with more than `LOCATED` rows, and from tables on a cluster, have no file and line. ids:
    (query_id, doc_id) pairs. If a doc_id is empty, the example is the query alone, with the first line of that query.
    """
    return tuple(example_of(pulled, query_id, doc_id) for query_id, doc_id in list(dict.fromkeys(ids))[:MOST])


def example_of(pulled: Pulled, query_id: str, doc_id: str) -> str:
    ids_text = f"query {query_id!r}" + (f", document {doc_id!r}" if doc_id else "")
    if pulled.count > LOCATED or pulled.remote_table:
        return ids_text
    if not doc_id:
        rows = select_queries(pulled.table, [query_id])
        doc_id = rows["doc_id"][0].as_py() if rows.num_rows else ""
    return f"{pulled.locate(query_id, doc_id)}: {ids_text}" if doc_id else ids_text
