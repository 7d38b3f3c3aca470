"""Combine the judgments of several files, judges and functions into one grade for each document."""
