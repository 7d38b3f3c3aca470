"""The commands, in groups: each parses its options, and calls functions of other packages."""
