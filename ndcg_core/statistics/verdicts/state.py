"""Reduce a comparison to a state: better, worse, equal or open, and whether by more than the smallest effect."""

from enum import StrEnum

from ndcg_core.statistics.verdicts.verdict import Size, Verdict


class State(StrEnum):
    """The state of one comparison, by the deciding test and the smallest effect."""

    BETTER_BY_MORE = "better_by_more"
    """Better, and the simultaneous interval lies beyond the smallest effect."""
    BETTER = "better"
    """Better; by how much is open, or no smallest effect is set."""
    HOLDS = "holds"
    """A guardrail: not worse than its margin."""
    SAME = "same"
    """The systems have equal values on every query."""
    SMALLER = "smaller"
    """A difference smaller than the smallest effect, in either direction."""
    WORSE = "worse"
    """Worse, and not shown to be smaller than the smallest effect or margin."""
    WORSE_BY_MORE = "worse_by_more"
    """Worse, and the simultaneous interval lies beyond the smallest effect."""
    OPEN = "open"
    """Open: the queries show no other state."""
    UNKNOWN = "unknown"
    """Not computed, or not certain under other assumptions. It never counts as a good result."""

    @property
    def is_harm(self) -> bool:
        """Return whether the state shows harm: the candidate is worse."""
        return self in (State.WORSE, State.WORSE_BY_MORE)

    @property
    def is_gain(self) -> bool:
        """Return whether the state shows a gain: the candidate is better."""
        return self in (State.BETTER, State.BETTER_BY_MORE)

    @property
    def is_undecided(self) -> bool:
        """Return whether the state is open or unknown."""
        return self in (State.OPEN, State.UNKNOWN)

    def has_same_direction(self, other: "State") -> bool:
        """Return whether another state agrees with this one, whatever the size of the difference.

        The other state is that of the comparison under other assumptions. Gains agree with gains, and harms with harms.
        SAME and SMALLER agree with SAME, SMALLER and HOLDS; HOLDS agrees with HOLDS and SAME; OPEN and UNKNOWN agree
        only with themselves.
        """
        if self.is_gain or self.is_harm:
            return (self.is_gain, self.is_harm) == (other.is_gain, other.is_harm)
        if self in (State.SAME, State.SMALLER):
            return other in (State.SAME, State.SMALLER, State.HOLDS)
        return other is self or (self is State.HOLDS and other is State.SAME)


_STATES = {
    Verdict.IMPROVED: State.BETTER,
    Verdict.REGRESSED: State.WORSE,
    Verdict.EQUIVALENT: State.SMALLER,
    Verdict.IDENTICAL: State.SAME,
    Verdict.NOT_WORSE: State.HOLDS,
    Verdict.WORSE: State.WORSE,
    Verdict.UNDECIDED: State.OPEN,
    Verdict.NOT_TESTABLE: State.OPEN,
    Verdict.MAY_BE_WORSE: State.OPEN,
}


def state_of(conclusion: Verdict, size: Size | None) -> State:
    """Convert a verdict and the size of the difference (None if unknown) to a state."""
    if conclusion.is_detected and size is Size.SMALLER_THAN:
        return State.SMALLER
    if conclusion.is_detected and size is Size.BY_MORE_THAN:
        return State.BETTER_BY_MORE if conclusion is Verdict.IMPROVED else State.WORSE_BY_MORE
    return _STATES[conclusion]
