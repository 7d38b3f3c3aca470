"""Store past evaluations: a bundle on disk for each, and one database of all."""
