"""The configuration of an evaluation: its model, read from a file, from options or from arguments."""
