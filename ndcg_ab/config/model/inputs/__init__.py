"""The models of the inputs in a configuration: judgments, rankings, scores, clicks, and their sources."""
