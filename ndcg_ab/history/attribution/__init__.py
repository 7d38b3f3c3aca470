"""Every system against itself in the evaluation before, and what moved it."""
