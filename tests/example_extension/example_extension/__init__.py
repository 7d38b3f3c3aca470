"""A tracker that writes a line for each evaluation, a check of documents' ids, and a source of text files."""

from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.history.bundle import Bundle
from ndcg_ab.results.outcome import Finding
from ndcg_ab.trackers import Published, Tracker


class Lines(Tracker):
    """`lines.txt` in the output directory: the key of every evaluation, once."""

    options = ("mark",)

    def log(self, bundle: Bundle) -> Published:
        path = bundle.evaluation.output_directory / "lines.txt"
        known = path.read_text().splitlines() if path.exists() else []
        if is_new := bundle.key not in known:
            path.write_text("\n".join([*known, bundle.key]) + "\n")
        return Published(bundle.key, str(path), "", self.address(bundle.evaluation), is_new)

    def address(self, evaluation: Evaluation) -> str:
        return str(evaluation.output_directory / "lines.txt")


def check_ids(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """A note on documents' ids of judgments that are longer than two letters."""
    ids = engine.read("judgment", ["doc_id"]).column("doc_id").to_pylist()
    long = sorted({text for text in ids if len(text) > 2})
    if not long:
        return []
    return [Finding("ids", "note", f"{len(long)} ids are longer than 2 letters, as {long[0]}", len(long))]


def fail(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    raise RuntimeError("no luck")


def read_notes(contents: str, queries: Mapping[str, str], directory: Path, *, file: str) -> dict[str, dict[str, float]]:
    """Lines of ``query: document document …``, the best first; of judgments every document named has grade 1."""
    found = {}
    for line in (directory / file).read_text().splitlines():
        query_id, _, documents = line.partition(":")
        names = documents.split()
        found[query_id] = {name: 1.0 if contents == "judgment" else -float(at) for at, name in enumerate(names)}
    return found


def return_nothing(contents: str, queries: Mapping[str, str], directory: Path) -> int:
    return len(queries)
