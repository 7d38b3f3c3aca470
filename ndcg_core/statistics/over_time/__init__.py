"""Tests that are repeated, and what moved a mean from one evaluation to the next."""
