"""What is printed to a terminal."""
