"""Results as pages of HTML, and their parts."""
