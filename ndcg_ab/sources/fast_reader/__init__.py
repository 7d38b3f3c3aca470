"""The fast way through plain rankings, of which only the top places are kept."""
