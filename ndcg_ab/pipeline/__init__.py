"""Run an evaluation as one pipeline of stages."""
