"""Evaluations one after another: what is read from the history."""
