"""Define effectiveness measures and compute their values for single queries."""
