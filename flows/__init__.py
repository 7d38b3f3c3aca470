"""How an evaluation is run: from the command line, as a Prefect flow, on a schedule."""
