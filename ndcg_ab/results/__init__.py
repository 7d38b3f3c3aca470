"""The records of an evaluation's results (outcome, findings, decisions) and their storage as JSON and tables."""
