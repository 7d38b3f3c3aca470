"""Choose the queries to judge: plan how many are needed, and draw them with known probabilities."""
