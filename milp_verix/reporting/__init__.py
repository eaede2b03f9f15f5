"""Results as tables, HTML and pictures."""
