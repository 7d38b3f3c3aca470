"""Run evaluations and store them: a bundle folder, a row in the history, a page and a tracker."""
