"""Check tables of rows, store them in memory or on disk, and compute digests of their content."""
