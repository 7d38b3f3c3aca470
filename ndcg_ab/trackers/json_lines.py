"""Write results as JSON Lines in a folder, one file for each evaluation.

``FOLDER/EVALUATION/MOMENT-CONTENT.jsonl``; the first line is the evaluation, then one line for each system and metric,
comparison, decision, gate and finding, each with the evaluation's name, key and nominal time. In DuckDB:
``select * from read_json('FOLDER/*/*.jsonl', union_by_name = true) where record = 'comparison'``.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError, TrackingError
from ndcg_ab.files import resolve_path, write_text
from ndcg_ab.full_disks import is_full, no_room
from ndcg_ab.history.bundle import Bundle
from ndcg_ab.results.codec import encode
from ndcg_ab.trackers.base import Published, Tracker

FOLDER = "json_lines"  # inside the output directory


class JsonLinesTracker(Tracker):
    """The tracker that writes JSON Lines, one file for each evaluation.

    Its option `folder` names the folder of the files, by default `json_lines` in the output directory.
    """

    options = ("folder",)

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(evaluation)
        folder = evaluation.tracker.options.get("folder", evaluation.output_directory / FOLDER)
        if not isinstance(folder, str | Path) or not str(folder).strip() or "\0" in str(folder):
            raise InputError(f"tracker.json_lines.folder = {folder!r}: must be the path of a folder")
        self.folder = resolve_path(evaluation.directory / Path(folder).expanduser())

    def log(self, bundle: Bundle) -> Published:
        path = self.folder / bundle.evaluation.name / f"{bundle.folder.name}-{bundle.content_key[:12]}.jsonl"
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in bundle_records(bundle))
        try:
            is_new = not path.exists()
            if is_new or path.read_text(encoding="utf-8") != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, content)
        except OSError as error:
            found = no_room(error, path) if is_full(error) else None
            raise TrackingError(str(found) if found else f"{path}: cannot be written: {error.strerror}") from error
        return Published(path.stem, str(path), "", str(self.folder), is_new)

    def address(self, evaluation: Evaluation) -> str:
        return str(self.folder)


def bundle_records(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Yield the lines of a bundle's JSON Lines file as dictionaries.

    The first line describes the evaluation. One line follows for each system and metric, comparison, decision, gate and
    finding; the key `record` says which of these the line is.
    """
    common = {"evaluation": bundle.evaluation.name, "key": bundle.key, "began": bundle.began.isoformat()}
    outcome = bundle.outcome
    about = {
        "ordinal": bundle.ordinal,
        "finished": bundle.finished.isoformat(),
        "reused": [time.isoformat() for time in bundle.reused],
        "content_key": bundle.content_key,
        "query_set": bundle.query_set,
        "program": bundle.program,
        "baseline": outcome.baseline,
        "bundle": str(bundle.folder),
    }
    yield {"record": "evaluation", **common, **about}
    records: dict[str, Any] = {
        "system": outcome.systems,
        "comparison": outcome.comparisons,
        "decision": outcome.decisions,
        "gate": outcome.gates,
        "finding": outcome.findings,
    }
    for kind, rows in records.items():
        for record in rows:
            yield {"record": kind, **common, **encode(record)}
