"""Turn inputs into scores: load tables, score them in SQL, verify a sample, read scores of other tools."""
