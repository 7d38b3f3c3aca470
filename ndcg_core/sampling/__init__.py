"""Which queries to judge: drawn with known probabilities, and planned before anything is judged."""
