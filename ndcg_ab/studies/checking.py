"""`ndcg-ab check` over files: which is which is guessed, and judgments need not be among them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.checks.unjudged_checks import check_rankings_alone
from ndcg_ab.config.loading.templates import stands_for_many
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.files import named
from ndcg_ab.pipeline import Say, check_only
from ndcg_ab.results.codec import encode
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources.forms.recognition import recognise_file
from ndcg_ab.studies.first_configuration import guess_inputs

CONFIGURATIONS = (".yaml", ".yml")


def is_configuration(files: Sequence[Path]) -> bool:
    """Whether one file alone is meant as a configuration: by its name, or because it is no data and begins as YAML."""
    if len(files) != 1 or files[0].suffix.lower() in CONFIGURATIONS:
        return len(files) == 1
    if not files[0].is_file():
        return True
    return recognise_file(files[0]) is None and bool(re.match(r"\s*(#|---|[\w-]+:\s)", read_start(files[0])))


def read_start(path: Path) -> str:
    with named(path), path.open("rb") as file:
        return file.read(200).decode("utf-8", errors="replace")


def check_files(
    files: Sequence[Path],
    judgments: Path | None,
    systems: Mapping[str, Path],
    keys: Mapping[str, Any],
    engine: Engine,
    say: Say,
    words: Mapping[str, float] | None = None,
    duplicates: str | None = None,
) -> tuple[list[Finding], str]:
    """The findings about judgments and rankings, or rankings alone, and what was read in words.

    keys: of the evaluation beside its sources: metrics, findings, strict, documents.  words: the numbers of grades that
    are words.  duplicates: first, if the first of the places of a document counts.
    """
    found = guess_inputs(files, judgments, systems, None, needs_judgments=False)
    judged = found.judgments.path if found.judgments else "no judgments"  # a path that is not read
    content: dict[str, Any] = {"name": "check", "judgments": {"file": str(judged), "grades": words}, **keys}
    content["systems"] = [
        {"name": name, "file": str(each.path), "parts": stands_for_many(each.path), "duplicates": duplicates}
        for name, each in found.systems.items()
    ]
    if found.queries:
        content["queries"] = {"file": str(found.queries.path)}
    evaluation: Evaluation = validate_evaluation(content)
    check = check_only if found.judgments else check_rankings_alone
    findings, counts = check(evaluation, engine, say)
    return findings, "\n".join([*found.words(), counts])


def checked_to_json(counts: str, findings: Sequence[Finding]) -> str:
    """What was read in words, and the findings."""
    content = {"schema": 1, "read": counts.splitlines(), "findings": encode(list(findings))}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
