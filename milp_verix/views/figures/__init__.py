"""Figures of results by form: pictures, bars, described rows; ``plot`` draws any result."""
