"""Inputs in a run's working folder, as Parquet: read now, or known from an earlier night."""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab import __version__
from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError, SilentError
from ndcg_ab.evaluation import reduced
from ndcg_ab.evaluation.codec import encode
from ndcg_ab.evaluation.outcome import Input
from ndcg_ab.history import bundles, known_inputs
from ndcg_ab.history.database import digest_of
from ndcg_ab.sources import Layout, Pulled, content, source_of
from ndcg_ab.visible import visible

RESULT = 1  # to be raised with every change of what is found of a ranking
PULLED = "pulled"  # the folder of what was pulled, inside the working folder


@dataclasses.dataclass(frozen=True)
class Place:
    """What is pulled: from where, what its rows are, its name, kind and version, and where its table is put."""

    source: Any
    layout: Layout
    name: str
    kind: str
    path: Path
    version: str | None = None


def unless_known(evaluation: Evaluation, place: Place, read: Callable[[], Pulled], anew: bool) -> dict[str, Any]:
    """Puts a pulled table on disk, and reads it only where its content is not that of an earlier night.

    What was read is remembered only where its content was the same before and after.
    """
    before = content_now(evaluation, place)
    if before and not anew and (known := known_inputs.take(evaluation, before, place.path)):
        origin = source_of(place.source, evaluation.directory).origin
        found = Input(place.name, place.kind, place.version, origin, known.rows, known.digest, known.read)
        return dict(encode(found))
    pulled = read()
    row = kept(pulled, place.name, place.kind, place.path, place.version)
    folder = place.path.parent
    if before and known_inputs.limit_of(evaluation) and content_now(evaluation, place) == before:
        facts = {"digest": row["digest"], "rows": row["rows"], "read": encode(moment_of(folder.parent))}
        about = {"places": before.places, "is_remarked": bool(pulled.remarks)}
        known_inputs.prepare(folder, before, known_inputs.known_of(place.path, **facts, **about), place.path)
    return row


def content_now(evaluation: Evaluation, place: Place) -> content.Content | None:
    """The content of a source now; None where only its answer tells it, which says, too, what is wrong with it."""
    try:
        return content.content_of(place.source, place.layout, evaluation.directory, __version__)
    except SilentError:
        raise
    except (InputError, OSError):
        return None


def result_keys(evaluation: Evaluation, inputs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """System -> the key of what is found of its ranking: of its rows, the judgments, the metrics and the program.

    Systems without one are those of which everything must be looked at.
    """
    metrics = evaluation.metric_list
    digests = {(row["kind"], row["name"] if row["kind"] == "ranking" else ""): row["digest"] for row in inputs}
    if ("judgments", "") not in digests or not reduced.can_reduce(metrics):
        return {}
    about = [digests["judgments", ""], [metric.hash for metric in metrics], __version__, RESULT]
    return {name: digest_of([digest, *about]) for (kind, name), digest in digests.items() if kind == "ranking"}


def known_results(evaluation: Evaluation, keys: Mapping[str, str]) -> dict[str, reduced.Reduced]:
    """What was found in earlier nights, of the systems whose rankings have not changed since."""
    found = {name: known_inputs.take_result(evaluation, key) for name, key in keys.items()}
    return {name: reduced.Reduced(**each[0], count=each[1]) for name, each in found.items() if each}


def note_result(engine: Engine, name: str, pulled: Pulled, evaluation: Evaluation, key: str, folder: Path) -> None:
    """Prepares what later nights need to know of a ranking."""
    if not known_inputs.limit_of(evaluation):
        return
    if found := reduced.reduce(engine, name, pulled, evaluation.metric_list):
        tables = {"rows": found.rows, "answers": found.answers, "ranks": found.ranks}
        known_inputs.prepare_result(folder, key, tables, found.count)


def remember(evaluation: Evaluation, folder: Path) -> None:
    """Lets later nights know what was read; one that cannot be told reads it again."""
    if problem := known_inputs.enter(evaluation, folder / PULLED):
        print(visible(f"ndcg-ab: {problem}"), file=sys.stderr)


def kept(pulled: Pulled, name: str, kind: str, path: Path, version: str | None = None) -> dict[str, Any]:
    """Puts a pulled table on disk; what is known about it, for the bundle."""
    papq.write_table(pulled.table, path, compression="zstd")
    found: dict[str, Any] = encode(Input(name, kind, version, pulled.origin, pulled.table.num_rows, pulled.digest))
    return found


def read_kept(path: Path, layout: Layout) -> pa.Table:
    """The table in the types of its layout, with what its source noticed."""
    remarks = papq.read_schema(path).metadata
    return papq.read_table(path, schema=layout.schema).replace_schema_metadata(remarks)


def moment_of(folder: Path) -> datetime:
    """The moment that a run stands for, in the name of its working folder."""
    return bundles.began_of(folder.name.removeprefix(".").removesuffix(".partial"))
