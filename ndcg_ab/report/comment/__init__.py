"""Markdown: the comment on a pull request, notes of trackers."""
