"""Compare systems: families of tests, slices, changes of results, costs, gates, and the previous evaluation."""
