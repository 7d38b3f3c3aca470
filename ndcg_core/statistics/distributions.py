"""Import the normal and t distribution functions from the part of `scipy.special` that computes them.

Importing all of `scipy.special` takes ten times as long (`flows.cli.base_command`).
"""

try:
    from scipy.special._ufuncs import ndtr, ndtri, stdtr, stdtrit  # type: ignore[import-untyped]
except ImportError:  # a scipy that keeps them elsewhere
    from scipy.special import ndtr, ndtri, stdtr, stdtrit  # type: ignore[import-untyped]

__all__ = ["ndtr", "ndtri", "stdtr", "stdtrit"]
