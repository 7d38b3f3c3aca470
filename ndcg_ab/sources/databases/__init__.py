"""Databases that are asked in SQL."""
