"""Store the inputs and results of the stages of an evaluation in memory; `ndcg_ab.runs` stores them in a folder."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.memory import Memory
from ndcg_ab.scoring.needed_results import covers_enough_queries, find_needed_results
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.sources import Layout, NeededResults, Pulled, Queries
from ndcg_ab.sources.judgments.gathering import add_function_grades
from ndcg_ab.sources.tables.in_memory import type_name
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter

JUDGED_BY_FUNCTION = "judged"
PROXY, UNSEEN, QUERIES, INTENDED = "cheap_judgments", "careful_unseen", "queries", "intended"
# Of inputs, in the order in which they are listed.
KINDS = ("scores", "judgments", "cheap judgments", "careful unseen", "ranking", "queries", "intended")


def judgments_key(index: int) -> str:
    """Return the key in the store of one source of judgments.

    index: position of the source: 0 for `judgments`, 1 for the first of `more_judgments`.
    """
    return f"judgments{index or ''}"


def ranking_key(index: int) -> str:
    return f"ranking{index}"


def scores_key(index: int) -> str:
    return f"scores{index}"


@dataclass(frozen=True)
class StoreEntry:
    """The description of one input in the store.

    Attributes
    ----------
    key : str
        Key of the input in the store.
    source : model
        The source in the configuration.
    layout : Layout
        The columns of the input.
    name, kind, version : str
        Name, kind of content and version, as reports print them; the version can be None.
    is_remembered : bool
        True if a later run need not read the input again while its content is unchanged.
    about : str
        Further text that determines how the rows are read.
    """

    key: str
    source: Any
    layout: Layout
    name: str
    kind: str
    version: str | None = None
    is_remembered: bool = True
    about: str = ""


class Store:
    """The inputs and tables that the stages read and write, in memory; `ndcg_ab.runs.folder` keeps them in a folder.

    engine: an open engine, which the caller closes; None if inputs are only read. complete: True to read complete
    rankings, which the page needs; if False, only results that metrics and checks need are read, and every value is the
    same.
    """

    def __init__(self, evaluation: Evaluation, engine: Engine | None = None, *, complete: bool = True) -> None:
        self.evaluation = evaluation
        self._engine = engine
        self._complete = complete
        self._pulled: dict[str, Pulled] = {}
        self._entries: dict[str, StoreEntry] = {}
        self._judgments: Pulled | None = None
        self._needed: NeededResults | None = None

    @property
    def engine(self) -> Engine:
        """The engine that holds the tables of this evaluation."""
        assert self._engine is not None
        return self._engine

    def memory(self) -> contextlib.AbstractContextManager[Memory | None]:
        """Open the memory limit for reading inputs, with the folder for data that does not fit.

        The context manager yields None without a limit.
        """
        return contextlib.nullcontext(self._engine.memory if self._engine else None)

    # ---- inputs

    def add(self, entry: StoreEntry, read: Callable[[], Pulled], *, force: bool = False) -> str | None:
        """Store an input, from the cache if its content is unchanged, else by reading it.

        Return a sentence for the user if the input came from the cache, else None.
        read: a function that reads the input.
        force: True to read the input in any case.
        """
        self._pulled[entry.key] = read()
        self._entries[entry.key] = entry
        return None

    def has(self, key: str) -> bool:
        """Return whether the input with this key has been read."""
        return key in self._entries

    def get(self, key: str) -> Pulled | None:
        """Return the input with this key as it was read, or None if none has been read."""
        return self._pulled.get(key)

    def input_writer(self, key: str, memory: Memory | None) -> TableWriter:
        """Return the writer that receives the rows of the input `key` while it is read."""
        if memory is None or memory.limit is None or memory.folder is None:
            return IN_MEMORY
        return TableWriter(memory.folder / f"{key}.parquet", memory)

    def rankings(self, memory: Memory | None, *, complete: bool = False, force: bool = False) -> dict[str, Pulled]:
        """Return system -> ranking for all systems.

        complete: True for all results; False if rankings may be reduced to the results that metrics and checks need.
        force: True to ignore the reduced rankings that earlier runs stored.
        """
        names = enumerate(system.name for system in self.evaluation.systems)
        rankings = {name: self._pulled[ranking_key(index)] for index, name in names}
        return {name: each.with_all_rows() for name, each in rankings.items()} if complete else rankings

    def results_to_read(self) -> NeededResults | None:
        """Return the part of a ranking that must be read, or None if all of it must be read."""
        judgments = None if self._complete else self.judgments()
        if judgments is None or judgments.singles is not None or self.get(PROXY) is not None:
            return None  # other judgments look at other parts of the rankings
        if self._needed is None:  # the same of every ranking
            self._needed = find_needed_results(self.evaluation.metric_list, judgments, len(self.evaluation.systems))
        return self._needed

    def covers_enough_queries(self, pulled: Pulled) -> bool:
        """Return whether the part of a ranking that was read has enough queries for the checks of the data."""
        judgments = self.judgments()
        return judgments is None or covers_enough_queries(pulled, judgments)

    def put_costs(self, key: str, costs: pa.Table) -> None:
        """Replace the recorded costs of the requests for the input `key`."""
        self._pulled[key] = replace(self._pulled[key], costs=costs)

    def answers_folder(self, key: str) -> Path | None:
        """Return the folder in which the source `key` may store answers during the run; None to store none."""
        return None

    def answers_outdated_before(self, force: bool) -> float | None:
        """Return the Unix time before which a judge function's cached answers are outdated.

        None if no cached answer is outdated. force: True if only answers of this run may be reused.
        """
        return None

    def files(self) -> list[Pulled]:
        """Return the judgments of each configured source that has been read, in configured order."""
        return self.get_all(judgments_key(index) for index in range(len(self.evaluation.judgment_entries)))

    def judgments(self) -> Pulled | None:
        """Return all judgments as one table, including the grades by the judge function.

        None if some configured source has not been read yet, or if another tool computed the scores.
        """
        keys = [judgments_key(index) for index in range(len(self.evaluation.judgment_entries))]
        keys += [JUDGED_BY_FUNCTION] * bool(self.evaluation.judge)
        if self.evaluation.scores or not all(map(self.has, keys)):
            return None
        if self._judgments is None:
            self._judgments = add_function_grades(self.files(), self.get(JUDGED_BY_FUNCTION), self.evaluation)
        return self._judgments

    def queries(self) -> Queries:
        return Queries(self.get(QUERIES), tuple(self.evaluation.slices.by), self.get(INTENDED))

    def scores(self) -> list[Pulled]:
        """Return the scores of another tool, one table per source that has been read."""
        return self.get_all(scores_key(index) for index in range(len(self.evaluation.scores)))

    def get_all(self, keys: Iterator[str]) -> list[Pulled]:
        """Return the inputs with the given keys, in their order, without those that have not been read."""
        return [pulled for key in keys if (pulled := self.get(key)) is not None]

    def read(self, memory: Memory | None, *, complete: bool = False, force: bool = False) -> PulledInputs:
        """Return all inputs, as the scoring stages take them.

        memory: the limit for tables in memory; None for no limit. complete: True for complete rankings; if False,
        rankings may be reduced to the results that the stages need. force: True to ignore reduced rankings that earlier
        runs cached.
        """
        return PulledInputs(
            self.judgments(),
            self.queries(),
            {} if self.evaluation.scores else self.rankings(memory, complete=complete, force=force),
            tuple(self.scores()),
            self.get(PROXY),
            tuple(self.files()),
            self.get(JUDGED_BY_FUNCTION),
            self.get(UNSEEN),
        )

    @contextlib.contextmanager
    def complete_inputs(self) -> Iterator[PulledInputs]:
        """Yield all inputs, with complete rankings, within the limit of memory."""
        with self.memory() as memory:
            yield self.read(memory, complete=True)

    def describe_inputs(self, digested: int | None = None) -> list[dict[str, Any]]:
        """Return one dictionary per input, sorted by kind.

        The keys are name, kind, version, origin, rows (a number), digest and read (always None). digested: number of
        rows above which the digest of an input is None; if None, every input gets a digest.
        """
        inputs = []
        for key, entry in self._entries.items():
            pulled, in_memory = self._pulled[key], getattr(entry.source, "in_memory", None)
            count = pulled.count
            row: dict[str, Any] = {"name": entry.name, "kind": entry.kind, "version": entry.version}
            row["origin"] = f"{type_name(in_memory.data)} in memory" if in_memory else entry.source.origin
            digest = pulled.digest if digested is None or count <= digested else None
            inputs.append(row | {"rows": count, "digest": digest, "read": None})
        return sorted(inputs, key=lambda row: KINDS.index(row["kind"]))

    def inputs(self) -> PulledInputs:
        """Return all inputs; a ranking that was reduced while it was read stays reduced."""
        with self.memory() as memory:
            return self.read(memory)
