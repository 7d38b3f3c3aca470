"""Compute what unjudged documents can do to a measure: expected values, bounds, and the effect of one more judgment."""
