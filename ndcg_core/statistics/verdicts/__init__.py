"""Compare families of systems, and conclude a verdict from each comparison."""
