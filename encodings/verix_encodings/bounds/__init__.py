"""Intervals, sets of inputs, and lines around functions."""
