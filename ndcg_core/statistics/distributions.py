"""The distribution functions that the statistics need, from the part of `scipy.special` that computes them.

`scipy.special` itself imports half of numpy and takes ten times as long.  Whoever asks for its part alone
(`ndcg_ab.flows.cli.light_imports`) spares that time; everybody else gets the same functions.
"""

try:
    from scipy.special._ufuncs import ndtr, ndtri, stdtr, stdtrit  # type: ignore[import-untyped]
except ImportError:  # a scipy that keeps them elsewhere
    from scipy.special import ndtr, ndtri, stdtr, stdtrit  # type: ignore[import-untyped]

__all__ = ["ndtr", "ndtri", "stdtr", "stdtrit"]
