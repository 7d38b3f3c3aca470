"""What people read: terminal, Markdown, pictures, and the page."""
