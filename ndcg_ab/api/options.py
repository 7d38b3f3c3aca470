"""Options of a command in the messages of what stands behind it: here they are arguments."""

import contextlib
import re
from collections.abc import Iterator

from ndcg_ab.errors import InputError

ARGUMENTS = {
    "--query": "query",
    "--deviation": "deviation",
    "--scores": "scores",
    "--weights": "weights",
    "--clusters": "clusters",
    "--cluster-prefix": "cluster_prefix",
    "--baseline": "baseline",
    "--candidate": "candidates",
    "--metric": "metrics",
    "--effect": "effects",
    "--queries": "queries",
    "--alpha": "alpha",
    "--power": "power",
    "--dialect": "dialect",
    "--judgments": "judgments",
    "--rankings": "rankings",
    "--system": "systems",
    "--judgments-columns": "judgments_columns",
    "--columns": "columns",
}
OPTION = re.compile(r"(?<![\w'\"-])(" + "|".join(map(re.escape, ARGUMENTS)) + r")\b(?!-)")


@contextlib.contextmanager
def name_arguments_in_errors() -> Iterator[None]:
    """An InputError names arguments instead of options."""
    try:
        yield
    except InputError as error:
        raise type(error)(OPTION.sub(lambda found: ARGUMENTS[found[0]], str(error))) from error.__cause__
