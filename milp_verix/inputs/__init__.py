"""Described inputs: features with names, units, whole numbers and words, and rules between them."""
