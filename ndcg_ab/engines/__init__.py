"""Where the SQL files run."""
