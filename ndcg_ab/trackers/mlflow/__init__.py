"""Log evaluations to MLflow, as runs with tags, metrics, files and views."""
