"""What is asked: the model of an evaluation, from a file or from options, and the environment's settings."""
