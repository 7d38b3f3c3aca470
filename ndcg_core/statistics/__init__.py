"""Compare systems on the same queries: tests, estimates and verdicts from paired differences."""
