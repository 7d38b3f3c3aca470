"""Store the inputs of a run in a working folder, which becomes the bundle of the evaluation.

Inputs are Parquet files, read now or copied from an earlier run. Tables and results of stages stay in memory until the
end, when they are written to the bundle.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab import __version__, thresholds
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.files import write_text
from ndcg_ab.history import input_cache
from ndcg_ab.history.database import digest_of
from ndcg_ab.history.working_folder import time_in_name
from ndcg_ab.labels.function_judge import JudgeFunctionSource
from ndcg_ab.memory import Memory
from ndcg_ab.pipeline.store import JUDGED_BY_FUNCTION, KINDS, Store, StoreEntry, judgments_key, ranking_key
from ndcg_ab.results.codec import encode
from ndcg_ab.results.outcome import Input
from ndcg_ab.scoring.needed_results import reduce_pulled
from ndcg_ab.scoring.parity import sample_size
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.sources import RANKING, Layout, Pulled, make_source
from ndcg_ab.sources.files.parts import Content, digest_of_file, read_content_key
from ndcg_ab.sources.judgments.gathering import layout_of_columns
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableOnDisk, TableWriter
from ndcg_ab.sources.tables.reduced_ranking import ReducedRanking
from ndcg_ab.sources.tables.schema import DOCUMENT
from ndcg_ab.visible import visible

RESULT = 3  # to be raised with every change of how rankings are reduced
PULLED = "pulled"  # the folder of what was pulled, inside the working folder


class RunFolder(Store):
    """The store of one run: its inputs in a working folder (see `working_folder`), its tables in one engine."""

    def __init__(self, evaluation: Evaluation, folder: Path) -> None:
        super().__init__(evaluation)
        self.folder = folder
        self.pulled = folder / PULLED
        self.pulled.mkdir()
        self._inputs: dict[str, dict[str, Any]] = {}
        self._open = contextlib.ExitStack()

    def close(self) -> None:
        """Close the engine if it was opened."""
        self._open.close()

    @property
    def engine(self) -> Engine:
        """The engine of this run, which is opened once and closed when the run ends."""
        if self._engine is None:
            self._engine = self._open.enter_context(open_engine_for(self.evaluation, self.spill))
        return self._engine

    @property
    def spill(self) -> Path:
        """The folder for data that do not fit into memory; by default inside the working folder."""
        return self.evaluation.spill_folder or self.pulled / "spill"

    # ---- inputs

    def memory(self) -> Memory:
        limit = self.evaluation.resources.memory_limit
        return Memory(limit, self.spill, has_folder=limit is not None)

    def path(self, key: str) -> Path:
        return self.pulled / f"{key}.parquet"

    def input_writer(self, key: str, memory: Memory | None) -> TableWriter:
        return IN_MEMORY if memory is None or memory.limit is None else TableWriter(self.path(key), memory)

    def answers_folder(self, key: str) -> Path | None:
        return self.pulled / f"answers_{key}"

    def answers_outdated_before(self, force: bool) -> float | None:
        """Return the Unix time before which stored answers of a judge function are outdated.

        None if every stored answer may be reused. force: True if only answers of this run may be reused. The first call
        with it writes a file that marks the time, which later calls return.
        """
        if not force:
            return None
        mark = self.pulled / "asked_again"
        if not mark.exists():
            write_text(mark, repr(time.time()))
        return float(mark.read_text(encoding="utf-8"))

    def add(self, entry: StoreEntry, read: Callable[[], Pulled], *, force: bool = False) -> str | None:
        """Store an input in the working folder, from the cache or by reading it from its source.

        Return a sentence for the user if the input came from the cache, else None. An input that was read is prepared
        for the cache, unless its source changed while it was read. read: reads the source. force: do not use the cache.
        """
        before = self.current_content(entry)
        path = self.path(entry.key)
        self._entries[entry.key] = entry
        if before and not force and (known := input_cache.restore_cached_table(self.evaluation, before, path)):
            origin = make_source(entry.source, self.evaluation.directory).origin
            self.record_input(entry, origin, known.rows, known.digest, known.read)
            word = f"{'result' if entry.kind == 'ranking' else 'judgment'}{'s' * (known.rows != 1)}"
            return f"unchanged since {known.read[:10]}, {known.rows:,} {word} not read again"
        pulled = read()
        if not isinstance(pulled.table, TableOnDisk):
            papq.write_table(pulled.table, path, compression="zstd")
        if pulled.documents is not None:
            papq.write_table(pulled.documents, self.path(f"documents_{entry.key}"), compression="zstd")
        if pulled.costs is not None:
            self.put_costs(entry.key, pulled.costs)
        digest = pulled.digest  # it takes longer than reading
        self.record_input(entry, pulled.origin, pulled.count, digest)
        is_here = pulled.remote_table is None
        if before and is_here and input_cache.cache_limit(self.evaluation) and self.current_content(entry) == before:
            facts = {"digest": digest, "rows": pulled.count, "read": encode(time_in_name(self.folder.name))}
            facts |= {"places": before.locations, "is_remarked": bool(pulled.remarks)}
            input_cache.make_entry(self.pulled, before.key, {"table": path}, **facts)
        return None

    def record_input(self, entry: StoreEntry, origin: str, rows: int, digest: str, read: str | None = None) -> None:
        """Record an input for the bundle.

        rows: the number of rows. digest: the hash of the content. read: the time of the earlier run that read the
        input; None if it was read now.
        """
        self._inputs[entry.key] = dict(encode(Input(entry.name, entry.kind, entry.version, origin, rows, digest, read)))

    def current_content(self, entry: StoreEntry) -> Content | None:
        """Return a digest that identifies the present content of an input's source, without reading its rows.

        None if there is no such digest, if the input must not be cached, or if the source cannot be opened. Raise
        UnavailableError if the source does not answer.
        """
        if not entry.is_remembered:
            return None
        try:
            return read_content_key(entry.source, entry.layout, self.evaluation.directory, __version__ + entry.about)
        except UnavailableError:
            raise
        except (InputError, OSError):
            return None

    def get(self, key: str) -> Pulled | None:
        if key not in self._entries:
            return None
        entry = self._entries[key]
        if key == JUDGED_BY_FUNCTION:
            source: Any = JudgeFunctionSource(entry.source)
        else:
            source = make_source(entry.source, self.evaluation.directory)
        layout = entry.layout
        if entry.kind == "judgments":  # of the columns that are looked for, those that were found
            layout = layout_of_columns(papq.read_schema(self.path(key)).names)
        return Pulled(read_input_table(self.path(key), layout), layout, source)

    def describe_inputs(self, digested: int | None = None) -> list[dict[str, Any]]:
        """Return the records of all inputs for the bundle, sorted by kind and then in the order of reading."""
        return sorted(self._inputs.values(), key=lambda row: KINDS.index(row["kind"]))

    def cache_inputs(self, evaluation: Evaluation) -> None:
        """Add the inputs of this run to the cache for later runs; print a line to standard error if that fails."""
        if problem := input_cache.enter_entries(evaluation, self.pulled):
            print(visible(f"ndcg-ab: {problem}"), file=sys.stderr)

    # ---- rankings

    def rankings(self, memory: Memory | None, *, complete: bool = False, force: bool = False) -> dict[str, Pulled]:
        """Return the ranking of every system, as a mapping of system name -> ranking.

        A ranking is reduced to the ranks that the metrics need if that is possible.
        complete: True to return rankings with all ranks.
        force: True to reduce rankings again instead of using cached results.
        """
        names = [system.name for system in self.evaluation.systems]
        if complete:
            return {name: self.ranking(at, memory) for at, name in enumerate(names)}
        about = self.reduction_key_parts()
        return {name: self.reduced_ranking(at, about, memory, force) for at, name in enumerate(names)}

    def ranking(self, at: int, memory: Memory | None, reduced: ReducedRanking | None = None) -> Pulled:
        """Return the ranking of the system with index `at`, complete or in the reduced form."""
        key = ranking_key(at)
        source = make_source(self.evaluation.systems[at].source, self.evaluation.directory)
        documents, costs = self.read_extra("documents", key, DOCUMENT.schema), self.read_extra("costs", key)
        read = partial(self.ranking_rows, key, memory)
        return Pulled(read if reduced else read(), RANKING, source, documents, costs=costs, reduced=reduced)

    def ranking_rows(self, key: str, memory: Memory | None) -> Any:
        """Return the rows of a ranking as a table.

        If memory is limited and the rows are many, they stay in their file, and the result is a TableOnDisk.
        """
        path = self.path(key)
        rows = papq.read_metadata(path).num_rows
        if memory is not None and memory.limit is not None and rows > thresholds.FILE_ROWS:
            return TableOnDisk(path, memory)
        return read_input_table(path, RANKING)

    def reduced_ranking(self, at: int, about: list[Any], memory: Memory | None, force: bool) -> Pulled:
        """Return the ranking of one system, reduced to the ranks that the metrics need if that is possible.

        at: the index of the system. about: the result of `reduction_key_parts`. force: True not to use a cached result.
        """
        key = digest_of([digest_of_file(self.path(ranking_key(at))), *about])
        reduced = None if force else input_cache.read_cached_ranking(self.evaluation, key)
        if reduced is None:
            pulled, judgments = self.ranking(at, memory), self.judgments()
            assert judgments is not None
            reduced = reduce_pulled(pulled, judgments, self.evaluation.metric_list, len(self.evaluation.systems))
            if reduced is None:
                return pulled
            if input_cache.cache_limit(self.evaluation):
                tables = {name: getattr(reduced, name) for name in input_cache.TABLES}
                input_cache.make_entry(self.pulled, key, tables, count=reduced.count)
        return self.ranking(at, memory, reduced)

    def reduction_key_parts(self) -> list[Any]:
        """Return the values that, besides the rows of a ranking, determine the reduced ranking.

        They are the judgments and the rules for combining them, the hashes of the metrics, the number of queries to
        recompute, the version of the program, and the version of the method of reducing rankings.
        """
        evaluation = self.evaluation
        indices = range(len(evaluation.judgment_entries))
        judgments: Any = [digest_of_file(self.path(judgments_key(at))) for at in indices]
        judgments += [digest_of_file(self.path(JUDGED_BY_FUNCTION))] if evaluation.judge else []
        judgments = [*judgments, evaluation.judgments_precedence, evaluation.combine]
        metrics = [metric.hash for metric in evaluation.metric_list]
        return [judgments, metrics, sample_size(len(evaluation.systems)), __version__, RESULT]

    def put_costs(self, key: str, costs: pa.Table) -> None:
        papq.write_table(costs, self.path(f"costs_{key}"), compression="zstd")

    def read_extra(self, kind: str, key: str, schema: pa.Schema | None = None) -> pa.Table | None:
        """Return an additional table that was read with an input, or None if there is none.

        kind: `documents` (titles and addresses) or `costs`. key: the key of the input. schema: the columns to return;
        None for those of the file.
        """
        path = self.path(f"{kind}_{key}")
        return papq.read_table(path, schema=schema) if path.exists() else None


def read_input_table(path: Path, layout: Layout) -> pa.Table:
    """Return the table of an input, with the column types of a layout.

    The metadata of the table hold the remarks of the source.
    """
    remarks = papq.read_schema(path).metadata
    return papq.read_table(path, schema=layout.schema).replace_schema_metadata(remarks)
