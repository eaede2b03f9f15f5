"""Enumeration of minimal explanations, importance and relevance of features."""
