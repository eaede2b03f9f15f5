"""Results in words, as pairs of a name and a text, and as tables for the terminal."""
