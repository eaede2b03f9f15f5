"""Results as frozen data and as JSON."""
