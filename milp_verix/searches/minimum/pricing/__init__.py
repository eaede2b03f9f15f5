"""Pricing: perturbations that a set of features does not survive, by gradients or exactly."""
