"""The commands, in groups: each parses its options, and calls a function elsewhere."""
