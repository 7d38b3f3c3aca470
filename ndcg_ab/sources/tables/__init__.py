"""Tables that were read: their rules, where they stand, and what they hold."""
