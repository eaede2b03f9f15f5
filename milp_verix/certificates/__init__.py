"""Certificates: proofs of explanations that ``verix-check`` checks without a solver."""
