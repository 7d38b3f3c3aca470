"""Read user events (impressions and clicks), and compute grades from them by click models."""
