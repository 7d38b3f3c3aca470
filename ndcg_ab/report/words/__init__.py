"""The words of a report: numbers, sentences, decisions."""
