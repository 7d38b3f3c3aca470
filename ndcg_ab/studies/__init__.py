"""Answer other questions: explain a value, vary the definition, plan queries."""
