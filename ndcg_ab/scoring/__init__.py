"""From inputs to scores: load, score, recompute a sample, score again by other judgments."""
