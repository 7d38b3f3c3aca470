"""Run evaluations: from the command line, as a Prefect flow, on a schedule."""
