"""Forms of files, each an entry of a table, and their recognition by the first lines of a file."""
