"""Run an evaluation as one pipeline of stages."""

from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.stages import STAGES, check_only, evaluate, run_stages, score_systems
from ndcg_ab.pipeline.store import MemoryStore, Store, StoreEntry

__all__ = [
    "STAGES",
    "Context",
    "MemoryStore",
    "Stage",
    "Store",
    "StoreEntry",
    "check_only",
    "evaluate",
    "run_stages",
    "score_systems",
]
