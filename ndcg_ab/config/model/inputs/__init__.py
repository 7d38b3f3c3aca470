"""What a configuration says of its inputs: judgments, rankings, scores, clicks, and the places they come from."""
