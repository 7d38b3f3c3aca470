"""One answer for an outcome, which every report renders: decisions, estimates, warnings (`answer.py`)."""
