"""Run an evaluation as one pipeline of stages."""

from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.stages import STAGES, check_only, evaluate, run_stages, score_systems
from ndcg_ab.pipeline.store import MemoryStore, Place, Store

__all__ = [
    "STAGES",
    "Context",
    "MemoryStore",
    "Place",
    "Stage",
    "Store",
    "check_only",
    "evaluate",
    "run_stages",
    "score_systems",
]
