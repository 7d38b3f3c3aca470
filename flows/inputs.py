"""Inputs in a run's working folder, as Parquet: read now, or known from an earlier night."""

import dataclasses
import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab import __version__
from ndcg_ab.config.model import Evaluation
from ndcg_ab.errors import InputError, SilentError
from ndcg_ab.evaluation.codec import encode
from ndcg_ab.evaluation.judging import Judging
from ndcg_ab.evaluation.outcome import Input
from ndcg_ab.evaluation.parity import sample_size
from ndcg_ab.evaluation.reducing import reduce_pulled
from ndcg_ab.history import bundles, known_inputs
from ndcg_ab.history.database import digest_of
from ndcg_ab.memory import Memory
from ndcg_ab.sources import RANKING, Layout, Pulled, Queries, content, source_of
from ndcg_ab.sources.base import ReducedPull
from ndcg_ab.sources.judgments import completed, layout_in
from ndcg_ab.sources.queries import INTENDED, layout_of
from ndcg_ab.sources.schema import DOCUMENT
from ndcg_ab.sources.spilled import FEW, Spilled
from ndcg_ab.visible import visible

RESULT = 1  # to be raised with every change of how rankings are reduced
PULLED = "pulled"  # the folder of what was pulled, inside the working folder
SAID = "judged.parquet"  # what a function that judges said


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
    is_here = pulled.elsewhere is None
    if before and is_here and known_inputs.limit_of(evaluation) and content_now(evaluation, place) == before:
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


def rankings_from(
    evaluation: Evaluation, folder: Path, judgments: Pulled, memory: Memory | None, anew: bool
) -> dict[str, Pulled]:
    """Every system's ranking as it was pulled, reduced where it can be; anew: whatever earlier nights know of it."""
    found = {}
    about = result_about(evaluation, folder)
    for at, system in enumerate(evaluation.systems):
        path = folder / PULLED / f"ranking{at}.parquet"
        source, documents = source_of(system.source, evaluation.directory), documents_from(folder, at)
        read = partial(ranking_from, path, memory)
        key = digest_of([content.digest_of_file(path), *about])
        reduced = None if anew else known_inputs.take_result(evaluation, key)
        if reduced is None:
            whole = Pulled(read(), RANKING, source, documents)
            reduced = reduce_pulled(whole, judgments, evaluation.metric_list, len(evaluation.systems))
            if reduced is None:
                found[system.name] = whole
                continue
            if known_inputs.limit_of(evaluation):
                known_inputs.prepare_result(folder / PULLED, key, reduced)
        found[system.name] = ReducedPull(reduced, RANKING, source, read, documents)
    return found


def whole_rankings(evaluation: Evaluation, folder: Path, memory: Memory | None) -> dict[str, Pulled]:
    """Every system's ranking as it was pulled, all of it."""
    return {
        system.name: Pulled(
            ranking_from(folder / PULLED / f"ranking{at}.parquet", memory),
            RANKING,
            source_of(system.source, evaluation.directory),
            documents_from(folder, at),
        )
        for at, system in enumerate(evaluation.systems)
    }


def judgments_path(folder: Path, at: int) -> Path:
    """Where the judgments of a place are put; at: 0 for `judgments`, 1 for the first of `more_judgments`."""
    return folder / PULLED / f"judgments{at or ''}.parquet"


def judgments_from(evaluation: Evaluation, folder: Path) -> Pulled:
    """All judgments as they were pulled, as one table; where a function judges, with what it said."""
    return completed(files_from(evaluation, folder), said_from(evaluation, folder), evaluation)


def said_from(evaluation: Evaluation, folder: Path) -> Pulled | None:
    """What a function said; None where none judges."""
    if evaluation.judge is None:
        return None
    path = folder / PULLED / SAID
    layout = layout_in(papq.read_schema(path).names)
    return Pulled(read_kept(path, layout), layout, Judging(evaluation.judge))


def files_from(evaluation: Evaluation, folder: Path) -> list[Pulled]:
    """The judgments of each file as they were pulled."""
    parts = []
    for at, source in enumerate(evaluation.judgment_sources):
        path = judgments_path(folder, at)
        parts.append(pulled_from(path, layout_in(papq.read_schema(path).names), source, evaluation))
    return parts


def names_sources(evaluation: Evaluation, folder: Path) -> bool:
    """Whether any of the judgments that were pulled say where they came from."""
    places = range(len(evaluation.judgment_sources))
    return any("source" in papq.read_schema(judgments_path(folder, at)).names for at in places)


def result_about(evaluation: Evaluation, folder: Path) -> list[Any]:
    """What a reduced ranking depends on beside its rows: judgments, metrics, the sample's size and the program."""
    places = range(len(evaluation.judgment_sources))
    judgments: Any = [content.digest_of_file(judgments_path(folder, at)) for at in places]
    judgments += [content.digest_of_file(folder / PULLED / SAID)] if evaluation.judge else []
    judgments = [*judgments, evaluation.judgments_precedence, evaluation.combine]
    metrics = [metric.hash for metric in evaluation.metric_list]
    return [judgments, metrics, sample_size(len(evaluation.systems)), __version__, RESULT]


def remember(evaluation: Evaluation, folder: Path) -> None:
    """Lets later nights know what was read; one that cannot be told reads it again."""
    if problem := known_inputs.enter(evaluation, folder / PULLED):
        print(visible(f"ndcg-ab: {problem}"), file=sys.stderr)


def kept(pulled: Pulled, name: str, kind: str, path: Path, version: str | None = None) -> dict[str, Any]:
    """Puts a pulled table on disk, where it is not there yet; what is known about it, for the bundle."""
    if not isinstance(pulled.table, Spilled):
        papq.write_table(pulled.table, path, compression="zstd")
    found: dict[str, Any] = encode(Input(name, kind, version, pulled.origin, pulled.count, pulled.digest))
    return found


def read_kept(path: Path, layout: Layout) -> pa.Table:
    """The table in the types of its layout, with what its source noticed."""
    remarks = papq.read_schema(path).metadata
    return papq.read_table(path, schema=layout.schema).replace_schema_metadata(remarks)


def pulled_from(path: Path, layout: Layout, source: Any, evaluation: Evaluation) -> Pulled:
    return Pulled(read_kept(path, layout), layout, source_of(source, evaluation.directory))


def ranking_from(path: Path, memory: Memory | None) -> Any:
    """The same of a ranking, which stays in its file where memory is limited and it is large."""
    if memory is not None and memory.limit is not None and papq.read_metadata(path).num_rows > FEW:
        return Spilled(path, memory)
    return read_kept(path, RANKING)


def documents_from(folder: Path, at: int) -> pa.Table | None:
    """Titles and addresses that came along with a ranking."""
    path = folder / PULLED / f"documents{at}.parquet"
    return papq.read_table(path, schema=DOCUMENT.schema) if path.exists() else None


def moment_of(folder: Path) -> datetime:
    """The moment that a run stands for, in the name of its working folder."""
    return bundles.began_of(folder.name.removeprefix(".").removesuffix(".partial"))


def memory_of(evaluation: Evaluation, folder: Path) -> Memory:
    """What pulling may use; what does not fit goes beside what is pulled, where no other folder is named."""
    spill = evaluation.spill_folder or folder / PULLED / "spill"
    limit = evaluation.resources.memory_limit
    return Memory(limit, spill, has_folder=limit is not None)


def queries_from(evaluation: Evaluation, folder: Path) -> Queries:
    """The queries as they were pulled; nothing where no file names them."""
    intended = None
    if evaluation.intended is not None:
        intended = pulled_from(folder / PULLED / "intended.parquet", INTENDED, evaluation.intended, evaluation)
    if evaluation.queries is None:
        return Queries(intended=intended)
    path = folder / PULLED / "queries.parquet"
    pulled = pulled_from(path, layout_of(evaluation), evaluation.queries.source, evaluation)
    return Queries(pulled, tuple(evaluation.slices.by), intended)
