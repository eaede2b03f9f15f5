"""Radii: explanations at several radii, and the largest radius at which features do not matter."""
