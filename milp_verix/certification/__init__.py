"""Certificates: proofs of explanations that ``checker/verix_check.py`` checks without a solver."""
