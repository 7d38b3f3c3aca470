"""Forms of text: fields between white space or other signs."""
