"""Define the commands: each parses its options and calls functions of other packages."""
