"""Forms of JSON: documents, and objects of JSON Lines that hold others."""
