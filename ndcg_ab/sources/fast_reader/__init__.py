"""Read regular ranking files quickly, keeping only the top ranks."""
