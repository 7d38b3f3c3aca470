"""Query search engines over HTTP."""
