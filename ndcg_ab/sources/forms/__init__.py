"""Forms of files, one module each, and their recognition by the first lines of a file."""
