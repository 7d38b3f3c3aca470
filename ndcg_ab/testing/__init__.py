"""Test rankings in a test suite: `assert_not_worse`, and the fixture `ranking_baseline` of `ndcg_ab.testing.plugin`.

docs/pull-requests.md shows a repository that uses both. pytest imports this package at every start, so a name is only
imported from its module when it is first used.

Examples
--------
>>> from ndcg_ab.testing import assert_not_worse
>>> judgments = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}}
>>> ranking = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 1.0}}
>>> assert_not_worse(judgments, baseline=ranking, candidate=ranking).comparison().verdict
'identical'
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndcg_ab.testing.asserting import assert_not_worse

__all__ = ["assert_not_worse"]


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ndcg_ab.testing import asserting

    globals()[name] = value = getattr(asserting, name)
    return value
