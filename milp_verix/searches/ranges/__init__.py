"""Ranges of kept features within which the prediction provably stays."""
