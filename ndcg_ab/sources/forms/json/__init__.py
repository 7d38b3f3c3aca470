"""Forms of JSON: objects and lists in each other."""
