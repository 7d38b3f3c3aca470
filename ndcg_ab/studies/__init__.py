"""Answer questions besides the comparison: explain a value, vary the definition, plan queries, choose judgments."""
