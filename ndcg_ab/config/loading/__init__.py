"""From a configuration file to the model: YAML, layers, variables, templates, and what is wrong with them."""
