"""From options of a command, or arguments, to the model."""
