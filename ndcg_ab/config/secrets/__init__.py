"""Look up secrets by reference when they are used, and remove them from all output."""
