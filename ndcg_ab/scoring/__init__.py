"""Load inputs, score them in SQL, and verify a sample."""
