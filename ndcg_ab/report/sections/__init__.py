"""Parts that several reports have."""
