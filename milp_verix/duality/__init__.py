"""Contrastive explanations, MARCO and hitting sets."""
