"""Secrets: named by reference, looked up when they are used, and shown nowhere."""
