"""Load a configuration file: YAML, files that it extends, variables, templates, and messages about errors."""
