"""Every system against itself in the previous evaluation, and what moved it."""
