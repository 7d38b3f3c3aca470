"""The pydantic models of a configuration."""
