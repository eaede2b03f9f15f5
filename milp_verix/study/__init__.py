"""Studies: many inputs and settings, one journal of what was found, workers that share the work."""
