"""One check: known points, bounds, engines, replay; three values."""
