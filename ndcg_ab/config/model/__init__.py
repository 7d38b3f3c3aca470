"""The configuration of an evaluation as one model."""
