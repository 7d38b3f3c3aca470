"""Tables that were read: their rules, where they are, and what they hold."""
