"""Run evaluations that are kept: with a folder, a row in the history, a page and a tracker."""
