"""ndcg-ab."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ndcg-ab")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0"
