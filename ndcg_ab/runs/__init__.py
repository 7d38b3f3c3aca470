"""Run evaluations whose results are stored: in a bundle folder, a row of the history, a page and a tracker."""
