"""Evaluations that are kept: the same stages over a folder, in the history, with a page and a tracker."""
