"""Compare systems: families of tests, slices, changes, costs, gates."""
