"""Contrastive explanations: the smallest, the nearest and the cheapest change."""
