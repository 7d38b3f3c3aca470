"""Judgments of several files, judges and functions: one grade for each document."""
