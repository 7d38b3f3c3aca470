"""Where the stages of an evaluation keep what they read and make: in memory here, in a folder in `ndcg_ab.runs`."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.memory import Memory
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.scoring.top_places import holds_enough, wanted_places
from ndcg_ab.sources import Layout, Pulled, Queries, WantedPlaces
from ndcg_ab.sources.judgments.gathering import add_function_grades
from ndcg_ab.sources.tables.in_memory import type_name
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter

JUDGED_BY_FUNCTION = "judged"
PROXY, UNSEEN, QUERIES, INTENDED = "cheap_judgments", "careful_unseen", "queries", "intended"
# Of inputs, in the order in which they are listed.
KINDS = ("scores", "judgments", "cheap judgments", "careful unseen", "ranking", "queries", "intended")


def judgments_key(at: int) -> str:
    """at: 0 for `judgments`, 1 for the first of `more_judgments`."""
    return f"judgments{at or ''}"


def ranking_key(at: int) -> str:
    return f"ranking{at}"


def scores_key(at: int) -> str:
    return f"scores{at}"


@dataclass(frozen=True)
class Place:
    """One input: from where, what its rows are, its name, kind and version.

    key: what the store calls it.  is_remembered: a later run need not read it again if its content is the same.
    about: what decides how its rows are read, beside source and layout.
    """

    key: str
    source: Any
    layout: Layout
    name: str
    kind: str
    version: str | None = None
    is_remembered: bool = True
    about: str = ""


class Store(ABC):
    """What the stages read and write.

    keeps: whether the evaluation is kept afterwards, so that inputs are wanted whole, with digests.
    """

    keeps = False

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self._judgments: Pulled | None = None

    # ---- the tables of the evaluation

    @abstractmethod
    def engine(self) -> contextlib.AbstractContextManager[Engine]:
        """The engine that holds the tables of this evaluation."""

    @abstractmethod
    def memory(self) -> contextlib.AbstractContextManager[Memory | None]:
        """What reading may use, and the folder for what memory has no room for."""

    # ---- inputs

    @abstractmethod
    def add(self, place: Place, read: Callable[[], Pulled], *, force: bool = False) -> str | None:
        """Reads an input, unless it is known; what there is to say of it.  force: read it even where it is known."""

    @abstractmethod
    def has(self, key: str) -> bool:
        """Whether an input of this key was read."""

    @abstractmethod
    def get(self, key: str) -> Pulled | None:
        """An input as it was read; None where there is none of this key."""

    @abstractmethod
    def keep_file(self, key: str, memory: Memory | None) -> TableWriter:
        """Return where an input goes while it is read."""

    @abstractmethod
    def rankings(self, memory: Memory | None, *, whole: bool = False, force: bool = False) -> dict[str, Pulled]:
        """Every system's ranking: as far as it is looked at, or whole.  force: whatever earlier runs know of it."""

    def wanted(self) -> WantedPlaces | None:
        """What of a ranking is to be read; None: all of it."""
        return None

    def holds_enough(self, pulled: Pulled) -> bool:
        """Whether what was read of a ranking is enough for the checks."""
        return True

    @abstractmethod
    def put_costs(self, key: str, costs: pa.Table) -> None:
        """What requests for an input cost, in the place of what is known of that."""

    def answers_folder(self, key: str) -> Path | None:
        """Where a source may keep answers while the run lasts; None: nowhere."""
        return None

    def asked_since(self, force: bool) -> float | None:
        """From when on answers of a function that judges count, in seconds since 1970; None: from ever."""
        return None

    def files(self) -> list[Pulled]:
        """The judgments of each file."""
        return self.each(judgments_key(at) for at in range(len(self.evaluation.judgment_sources)))

    def by_function(self) -> Pulled | None:
        """What a function said; None where none judges."""
        return self.get(JUDGED_BY_FUNCTION)

    def judgments(self) -> Pulled | None:
        """All judgments as one table; None where there are none, or not all of them are there yet."""
        keys = [judgments_key(at) for at in range(len(self.evaluation.judgment_sources))]
        keys += [JUDGED_BY_FUNCTION] * bool(self.evaluation.judge)
        if self.evaluation.scores or not all(map(self.has, keys)):
            return None
        if self._judgments is None:
            self._judgments = add_function_grades(self.files(), self.by_function(), self.evaluation)
        return self._judgments

    def queries(self) -> Queries:
        return Queries(self.get(QUERIES), tuple(self.evaluation.slices.by), self.get(INTENDED))

    def scores(self) -> list[Pulled]:
        """The scores of another tool."""
        return self.each(scores_key(at) for at in range(len(self.evaluation.scores)))

    def each(self, keys: Iterator[str]) -> list[Pulled]:
        return [pulled for key in keys if (pulled := self.get(key)) is not None]

    def read(self, memory: Memory | None, *, whole: bool = False, force: bool = False) -> PulledInputs:
        """All inputs, as the stages look at them."""
        return PulledInputs(
            self.judgments(),
            self.queries(),
            {} if self.evaluation.scores else self.rankings(memory, whole=whole, force=force),
            tuple(self.scores()),
            self.get(PROXY),
            tuple(self.files()),
            self.by_function(),
            self.get(UNSEEN),
        )


class MemoryStore(Store):
    """Objects in memory: of `compare`, the Python API and the studies.

    engine: an open one, which the caller closes; None where inputs are only read.
    whole: rankings are needed whole afterwards, as for the page; else they may be read only as far as the metrics and
    the checks look, which changes no number.
    """

    def __init__(self, evaluation: Evaluation, engine: Engine | None = None, *, whole: bool = True) -> None:
        super().__init__(evaluation)
        self._engine = engine
        self._whole = whole
        self._pulled: dict[str, Pulled] = {}
        self._places: dict[str, Place] = {}
        self._wanted: WantedPlaces | None = None

    @contextlib.contextmanager
    def engine(self) -> Iterator[Engine]:
        assert self._engine is not None
        yield self._engine

    @contextlib.contextmanager
    def memory(self) -> Iterator[Memory | None]:
        yield self._engine.memory if self._engine else None

    def add(self, place: Place, read: Callable[[], Pulled], *, force: bool = False) -> str | None:
        self._pulled[place.key] = read()
        self._places[place.key] = place
        return None

    def has(self, key: str) -> bool:
        return key in self._pulled

    def get(self, key: str) -> Pulled | None:
        return self._pulled.get(key)

    def keep_file(self, key: str, memory: Memory | None) -> TableWriter:
        if memory is None or memory.limit is None or memory.folder is None:
            return IN_MEMORY
        return TableWriter(memory.folder / f"{key}.parquet", memory)

    def put_costs(self, key: str, costs: pa.Table) -> None:
        self._pulled[key] = replace(self._pulled[key], costs=costs)

    def rankings(self, memory: Memory | None, *, whole: bool = False, force: bool = False) -> dict[str, Pulled]:
        names = enumerate(system.name for system in self.evaluation.systems)
        found = {name: self._pulled[ranking_key(at)] for at, name in names}
        return {name: each.whole() for name, each in found.items()} if whole else found

    def wanted(self) -> WantedPlaces | None:
        judgments = self.judgments()
        if self._whole or judgments is None or judgments.singles is not None or self.get(PROXY) is not None:
            return None  # other judgments look at other parts of the rankings
        if self._wanted is None:  # the same of every ranking
            self._wanted = wanted_places(self.evaluation.metric_list, judgments, len(self.evaluation.systems))
        return self._wanted

    def holds_enough(self, pulled: Pulled) -> bool:
        judgments = self.judgments()
        return judgments is None or holds_enough(pulled, judgments)

    def describe_inputs(self, digested: int | None = None) -> list[dict[str, Any]]:
        """Describe every input as bundles do; without the digest of one that has more than `digested` rows."""
        found = []
        for key, place in self._places.items():
            pulled, given = self._pulled[key], getattr(place.source, "given", None)
            count = pulled.count
            row: dict[str, Any] = {"name": place.name, "kind": place.kind, "version": place.version}
            row["origin"] = f"{type_name(given.data)} in memory" if given else place.source.origin
            digest = pulled.digest if digested is None or count <= digested else None
            found.append(row | {"rows": count, "digest": digest, "read": None})
        return sorted(found, key=lambda row: KINDS.index(row["kind"]))

    def inputs(self) -> PulledInputs:
        """All inputs as they were read, for those who show them."""
        with self.memory() as memory:
            return self.read(memory)
