"""Where the program begins."""

from ..stopping import obey_signals


def main() -> None:
    """Runs the command line, whose modules take a moment to import: signals are obeyed before."""
    obey_signals()
    from .app import app

    app()


if __name__ == "__main__":
    main()
