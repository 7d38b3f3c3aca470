"""Everything that touches the world: configuration, sources, the warehouse, reports, tracking, the command line."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ndcg-ab")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0"
