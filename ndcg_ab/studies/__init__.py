"""Questions beside the comparison: explain a value, vary the definition, plan the number of queries."""
