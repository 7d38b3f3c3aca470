"""Verdicts with their traits, the record of a comparison, and how a family is compared."""
