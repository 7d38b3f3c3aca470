"""Findings about ids that do not match although they look alike."""
