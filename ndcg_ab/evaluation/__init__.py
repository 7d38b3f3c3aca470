"""One evaluation: tables, checks, parity, families of comparisons, gates, and what came of it."""
