"""Make the names, tags and metrics of the MLflow runs of a bundle.

Names that differ only in signs that MLflow rejects, or in capitals, which some databases ignore, get a digest of the
whole name, so that they stay different and do not change from night to night.
"""

import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history.bundle import Bundle
from ndcg_ab.history.failed_nights import COULD_NOT_RUN, FailedNight
from ndcg_ab.report.answer import choices_by_candidate, format_decisions, format_headline, format_reasons, make_answer
from ndcg_ab.report.markdown import escape_text, format_decision_note, format_note
from ndcg_ab.report.over_time import change_mark
from ndcg_ab.report.sections import leading_costs
from ndcg_ab.report.words import deciding_interval, format_marked, system_rows
from ndcg_ab.results.codec import encode
from ndcg_ab.results.numbers import format_plain, signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import PRIMARY
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import ExternalMetric, find_builtin_metric, make_metric
from ndcg_core.statistics.over_time import CAUSES
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict

LONGEST_KEY = 250
LONGEST = 160  # letters of a system's name in one of MLflow's
# What runs carry besides: a metric of another tool that is called so gets a digest.
TAKEN = {
    *("improved", "regressed", "comparisons", "queries", "judged"),
    *("kind", "system", "role", "decision", "what_to_do", "reason", "baseline", "candidate", "gate"),
    *("reused", "reused_last", "metric", "metric_key", "judgments_version"),
    *("evaluation", "bundle_key", "content_key", "published", "version", "digest", "verdict"),
    *("alpha", "seed", "resamples", "definition", "difference", "difference_low", "difference_high", "p_adjusted"),
}


def metric_name(metric: Metric | str) -> str:
    """Return the name of a metric in MLflow, such as ``ndcg_at_10``."""
    parsed = make_metric(metric) if isinstance(metric, str) else metric
    name = parsed.tracker_name
    if not isinstance(parsed, ExternalMetric) or find_builtin_metric(parsed.external_name):
        return name
    path = name if not name.startswith(".") else f"metric{name}"
    is_apart = path == name.lower() and name not in TAKEN and not name.startswith("judged_at_")
    return path if is_apart or parsed.hash in name else f"{path}_{parsed.hash}"


def system_tag_parts(systems: Sequence[str]) -> dict[str, str]:
    """Return for each system a text that can be a part of an MLflow tag's name.

    The result is a mapping of system -> text. The texts differ also if capitals are ignored.
    """
    folded = [name.casefold() for name in systems]
    return {name: tag_part(name, is_alone=folded.count(name.casefold()) == 1) for name in dict.fromkeys(systems)}


def tag_part(text: str, *, is_alone: bool = True) -> str:
    """Return a text in a form that can be a part of an MLflow tag's name.

    A text that must be changed gets a digest at its end. is_alone: False if another text differs from this one only in
    capitals; then the digest is added even if nothing else must be changed.
    """
    plain = re.sub(r"[^\w. \-/]", "_", text)[:LONGEST]
    is_path = posixpath.normpath(f"x/{plain}") == f"x/{plain}"
    if plain == text and is_path and is_alone:
        return text
    return f"{plain if is_path else re.sub('[./]', '_', plain)}-{short_digest(text)}"


def model_name(system: str, version: str) -> str:
    """Return the MLflow LoggedModel name for a version of a system."""
    text = system if version == system else f"{system}-{version}"
    plain = re.sub(r"[./:%\"']", "-", text)[:LONGEST]
    return plain if plain == text else f"{plain}-{short_digest(text)}"


def tag_key(text: str) -> str:
    """Return the name of a tag, cut to LONGEST_KEY characters. A name that is cut ends with a digest."""
    return text if len(text) <= LONGEST_KEY else f"{text[: LONGEST_KEY - 9]}-{short_digest(text)}"


def short_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def folder_name(experiment: str) -> str:
    """Return a name for the folder of an experiment, whose own name may contain slashes and dots."""
    return re.sub(r"[^\w. -]+", "_", experiment).strip("._ ") or "experiment"


LONGEST_NOTE = 5000  # characters: what older servers take of a tag; newer ones take 8000
MORE = "\n\n… and more: report.html among the artifacts has everything."
NOTE = "mlflow.note.content"
COMPLETE = "published"  # tag of a parent run whose children and files are all there
EXPERIMENT_NOTE = """One run for each evaluation by ndcg-ab; its child runs are the systems. Choose a view on the right:
**Latest comparison** shows the systems of the last evaluation, **Every evaluation** has one line for each with the
metric that decides, **Nightly trend** one chart for each metric."""
SYSTEMS = 8  # that a line names; more are counted


def to_milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def common_tags(bundle: Bundle) -> dict[str, str]:
    """Return the tags that every run of a bundle gets.

    They hold the bundle's two keys, the number of the evaluation, the program and its version, whether a schedule
    started it, and, if known, the version of the judgments and the user.
    """
    tags = {"bundle_key": bundle.key, "content_key": bundle.content_key, "evaluation": str(bundle.ordinal)}
    tags |= {"mlflow.source.name": f"ndcg-ab {bundle.program}"}
    tags |= {"mlflow.source.type": "JOB" if bundle.is_scheduled else "LOCAL"}
    versions = [row["version"] for row in bundle.inputs if row["kind"] == "judgments" and row.get("version")]
    tags |= {"judgments_version": ", ".join(versions)} if versions else {}
    return tags | ({"mlflow.user": bundle.user} if bundle.user else {})


def failed_night_tags(evaluation: Evaluation, night: FailedNight) -> dict[str, str]:
    """Return the tags of the MLflow run of a failed night, a scheduled evaluation that could not run.

    The tag `kind` distinguishes the run from runs of evaluations.
    """
    tags = {"kind": "failed night", "bundle_key": f"{evaluation.name}/{night.stamp}", "what_to_do": COULD_NOT_RUN}
    return tags | {"reason": night.reason, "mlflow.note.content": night.reason, "mlflow.source.name": "ndcg-ab"}


def parent_tags(bundle: Bundle) -> dict[str, str]:
    """Return the tags of an evaluation's run: decisions, verdicts, gate, and the nights that reused the evaluation.

    `decision` and `decision/SYSTEM` are plain values to filter by; `what_to_do` is a sentence for people.
    """
    outcome = bundle.outcome
    described = format_note(outcome, bundle.since_last)
    tags = {"kind": "comparison", "baseline": outcome.baseline, "mlflow.note.content": truncate_note(described)}
    names = system_tag_parts(list(dict.fromkeys(row.system_id for row in outcome.systems)))
    tags |= metric_tags(outcome) | {"what_to_do": format_decisions(choices_by_candidate(outcome))}
    for decision in outcome.decisions:
        tags[f"decision/{names[decision.candidate]}"] = str(decision.decision)
    if best := make_answer(outcome).candidates[:1]:
        tags["decision"] = str(best[0].choice)
    for row in outcome.main:
        tags[tag_key(f"verdict/{names[row.candidate]}/{metric_name(row.metric)}")] = row.verdict
    if outcome.gate:
        tags["gate"] = outcome.gate
    if name := best_candidate(outcome):
        tags["candidate"] = name
    for metric in outcome.metrics:
        tags[metric_name(metric)] = format_comparison_line(outcome, metric)
    return tags | since_tags(bundle, names) | reuse_tags(bundle)


def metric_tags(outcome: Outcome) -> dict[str, str]:
    """Return two tags with the name of the deciding metric: as the user writes it, and as MLflow does."""
    rows = primary_comparisons(outcome)
    name = rows[0].metric if rows else outcome.metrics[0].name
    return {"metric": name, "metric_key": metric_name(name)}


def since_tags(bundle: Bundle, tag_parts: Mapping[str, str]) -> dict[str, str]:
    """Return one tag per system with the system's changes since the previous evaluation.

    The metrics are sorted by their difference, lowest first, so that the largest drop comes first. Return {} if there
    is no previous evaluation. tag_parts: system -> its name inside a tag.
    """
    since = bundle.since_last
    tags = {}
    for system in since.systems if since else ():
        rows = sorted(since.comparisons_of(system.system_id) if since else [], key=lambda row: row.difference or 0.0)
        texts = ", ".join(f"{change_mark(row)} {row.metric} {signed(row.difference)}".strip() for row in rows)
        reason = f": cannot be told, {system.unknown}" if system.unknown else ""
        tags[f"since_last/{tag_parts[system.system_id]}"] = (texts or ", ".join(system.changed) or "unchanged") + reason
    return tags


def truncate_note(note: str) -> str:
    """Return a description that fits MLflow's size limit.

    If the description is too long, its last lines are replaced by a remark that there is more.
    """
    if len(note) <= LONGEST_NOTE:
        return note
    return note[: LONGEST_NOTE - len(MORE)].rpartition("\n")[0] + MORE


def reuse_tags(bundle: Bundle) -> dict[str, str]:
    """Return two tags about the nights that reused a bundle: their number, and the time of the last one.

    Return {} if no night reused the bundle.
    """
    times = bundle.reused
    return {"reused": str(len(times)), "reused_last": encode(max(times))} if times else {}


def format_comparison_line(outcome: Outcome, metric: Metric) -> str:
    """Return the values of the systems on one metric as a line: ``bm25 0.7279, hybrid ▲ +0.0762``.

    The baseline has its mean, and each candidate its difference from the baseline. At most SYSTEMS systems are named;
    the others are counted.
    """
    texts = []
    for system, row in system_rows(outcome, metric):
        value = format_marked(row, signed(row.difference)) if row else format_plain(system.mean)
        texts.append(f"{system.system_id} {value}")
    more = f" and {len(texts) - SYSTEMS} more" if len(texts) > SYSTEMS else ""
    return ", ".join(texts[:SYSTEMS]) + more


def system_tags(outcome: Outcome, name: str) -> dict[str, str]:
    """Return the tags of the run of a system: its role, the decision with its reason, and formatted values."""
    role = "baseline" if name == outcome.baseline else "candidate"
    tags = {"kind": "system", "system": name, "role": role, "decision": role, "what_to_do": role}
    tags |= metric_tags(outcome)
    for decision in outcome.decisions:
        if decision.candidate == name:
            tags["decision"] = str(decision.decision)
            tags["what_to_do"] = f"{decision.decision.mark} {decision.decision.words}"
            tags["reason"] = decision.reason
            tags["mlflow.note.content"] = truncate_note(format_decision_note(outcome, decision))
    for metric in outcome.metrics:
        for system, row in system_rows(outcome, metric):
            if system.system_id == name:
                mean = format_plain(system.mean)
                value = format_marked(row, f"{mean} ({signed(row.difference)})") if row else mean
                tags[metric_name(metric)] = value
    return tags


def primary_comparisons(outcome: Outcome) -> list[Comparison]:
    return [row for row in outcome.comparisons if row.family == PRIMARY]


def best_candidate(outcome: Outcome) -> str | None:
    """Return the candidate with the largest difference from the baseline on the first primary metric.

    Return None if no candidate has a difference on that metric.
    """
    rows = primary_comparisons(outcome)
    first = [row for row in rows if row.metric == rows[0].metric and row.difference is not None]
    best = max(first, key=lambda row: row.difference or 0.0, default=None)
    return best.candidate if best else None


def parent_values(bundle: Bundle) -> dict[str, float]:
    """Return the MLflow metrics of an evaluation's run, as name -> value.

    They are counts, and the values and costs of the baseline (``baseline/…``), of the candidate that `best_candidate`
    returns, and their differences (``difference/…``). Unknown values are left out.
    """
    outcome = bundle.outcome
    conclusions = [row.conclusion for row in outcome.main]
    values: dict[str, float | None] = {
        word: float(conclusions.count(word)) for word in (Verdict.IMPROVED, Verdict.REGRESSED)
    }
    values |= {"comparisons": len(conclusions), "queries": max((row.queries for row in outcome.systems), default=0)}
    if bundle.since_last:
        values["dropped"] = float(len(bundle.since_last.dropped))
    means = {(row.system_id, row.metric): row.mean for row in outcome.systems}
    name = best_candidate(outcome)
    for row in primary_comparisons(outcome):
        if row.candidate == name:
            key = metric_name(row.metric)
            values |= {f"baseline/{key}": means[row.baseline, row.metric], key: means[row.candidate, row.metric]}
            values[f"difference/{key}"] = row.difference
    for cost in leading_costs(outcome.costs, name) if name else ():
        key = f"{cost.cost}_{cost.statistic}"
        for system, prefix in ((cost.baseline, "baseline/"), (cost.candidate, "")):
            value = outcome.costs.value_of(system, cost.cost, cost.statistic) if outcome.costs else None
            values[f"{prefix}{key}"] = value.value if value else None
        values[f"difference/{key}"] = cost.difference
    return {key: value for key, value in values.items() if value is not None}


def system_values(bundle: Bundle, name: str) -> dict[str, float]:
    """Return the MLflow metrics of a system's run, as name -> value, such as ndcg_at_10 or difference/ndcg_at_10.

    difference_low/… and difference_high/… of a metric are the ends of the interval that is shown beside the decision.
    moved_ranking/…, moved_judgments/… and moved_queries/… are the parts of the change since the previous evaluation
    that are due to new rankings, new judgments and new queries. Unknown values are left out.
    """
    outcome = bundle.outcome
    values: dict[str, float | None] = {}
    for row in outcome.systems:
        if row.system_id == name:
            metric = make_metric(row.metric)
            values[metric_name(metric)] = row.mean
            values.setdefault(f"judged_at_{metric.cutoff}" if metric.cutoff else "judged", row.judged)
    for test in outcome.main:
        if test.candidate == name:
            key = metric_name(test.metric)
            low, high = deciding_interval(test) or (None, None)
            values |= {f"difference/{key}": test.difference, f"difference_low/{key}": low}
            values |= {f"difference_high/{key}": high, f"p_adjusted/{key}": test.p_adjusted}
    for cost in outcome.costs.values if outcome.costs else ():
        if cost.system_id == name:
            values[f"{cost.cost}_{cost.statistic}"] = cost.value
    for more in outcome.costs.differences if outcome.costs else ():
        if more.candidate == name:
            key = f"{more.cost}_{more.statistic}"
            values |= {f"difference/{key}": more.difference, f"difference_low/{key}": more.low}
            values[f"difference_high/{key}"] = more.high
    for changes in outcome.changes:
        if changes.candidate == name:
            values |= {"changed_queries": float(changes.changed), f"overlap_at_{changes.depth}": changes.overlap}
            values[f"rbo_at_{changes.depth}"] = changes.rbo
    for test in bundle.since_last.comparisons_of(name) if bundle.since_last else ():
        values[f"since_last/{metric_name(test.metric)}"] = test.difference
    for moved in bundle.since_last.moved if bundle.since_last else ():
        if moved.system_id == name:
            key = metric_name(moved.metric)
            values |= {f"moved_{cause}/{key}": getattr(moved, cause) for cause in CAUSES}
    return {key: value for key, value in values.items() if value is not None}


def system_status(outcome: Outcome, name: str) -> str:
    """Return the status of a system's run: FAILED if a gate that failed names the system, else FINISHED."""
    return "FAILED" if any(name in gate.systems for gate in outcome.failures) else "FINISHED"


def experiment_name(evaluation: Evaluation) -> str:
    return evaluation.mlflow.experiment or evaluation.name


def experiment_note(bundle: Bundle) -> str:
    """Return the description of an MLflow experiment.

    It has the latest decision with its reasons, and explains how to read the runs.
    """
    outcome = bundle.outcome
    night = max([bundle.began, *bundle.reused])
    suffix = ", unchanged since then" if bundle.reused else ""
    latest = f"**{night:%Y-%m-%d} {escape_text(format_headline(outcome))}** (evaluation {bundle.ordinal}{suffix})"
    # MLflow takes no @ in the names of metrics
    names = ", ".join(f"`{metric_name(each)}` is {escape_text(each.name)}" for each in outcome.metrics)
    names_text = f"The metrics, as they are called here: {names}."
    return truncate_note("\n\n".join([latest, escape_text(format_reasons(outcome)), EXPERIMENT_NOTE, names_text]))
