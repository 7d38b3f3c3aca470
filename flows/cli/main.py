"""Start the command line."""

import os

from ..stopping import obey_signals

# numpy's BLAS would start a thread for each core, and let them wait busily: a seventh of a small comparison's processor
# time. What is large is dealt to threads of our own, each with one of BLAS (`map_blocks`).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# pydantic would read the metadata of every installed package, to look for plugins of its own.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    """Install the signal handlers, then import the command line and run it."""
    obey_signals()
    from .app import app

    app()


if __name__ == "__main__":
    main()
