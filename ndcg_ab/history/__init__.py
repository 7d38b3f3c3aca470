"""Store past evaluations: a bundle on disk for each, and one history database for all evaluations of a name."""
