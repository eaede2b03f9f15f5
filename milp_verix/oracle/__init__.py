"""One check: known points, bounds, program, replay; three values."""
