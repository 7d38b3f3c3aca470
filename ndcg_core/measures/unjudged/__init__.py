"""Compute how unjudged documents can change a measure: expected values, bounds, and the effect of one more judgment."""
