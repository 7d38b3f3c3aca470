"""What unjudged documents can do to a measure: bounds, completions, the worth of one more label."""
