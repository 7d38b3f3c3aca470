"""Convert command-line options and Python arguments into an evaluation."""
