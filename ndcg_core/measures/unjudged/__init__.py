"""What unjudged documents can do to a measure: expected values, bounds, the effect of one more label."""
