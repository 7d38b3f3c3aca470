"""Reports for people: text for the terminal, Markdown, and the report page."""
