"""Print results in the terminal."""
