"""How many examples a property is tried with: a quarter of them in the daily targets, all in `make soak`."""

import os

from hypothesis import settings

EVERY = "NDCG_AB_EVERY_EXAMPLE"  # in the environment: `make soak` sets it


def every_example() -> bool:
    """Whether everything is tried."""
    return bool(os.environ.get(EVERY))


def examples(count: int) -> int:
    """A count for `settings(max_examples=…)`."""
    return count if every_example() else -(-count // 4)


def draw_fewer() -> None:
    """For the properties that name no count; a busy machine takes the time that it takes."""
    settings.register_profile("daily", max_examples=examples(settings().max_examples), deadline=None)
    settings.load_profile("daily")
