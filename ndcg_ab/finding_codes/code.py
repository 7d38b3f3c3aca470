"""What is known of one kind of finding."""

from typing import NamedTuple


class Code(NamedTuple):
    """One kind of finding.

    severity: what it usually is; some are less where they can change little, and each entry says when. means: what was
    seen. advice: what to do. is_fixed: nothing could be computed in spite of it, so that it stays an error.
    """

    severity: str
    means: str
    advice: str
    is_fixed: bool = False
