"""What people read: terminal, Markdown, and the page."""
