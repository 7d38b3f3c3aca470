"""Check tables that were read, keep them in memory or on disk, and compute digests of their content."""
