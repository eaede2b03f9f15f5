"""Figures of the papers, quoted: Wu, Wu, Barrett, *VeriX*, NeurIPS 2023 (arXiv 2212.01051).

Only figures that could be checked are here; the tables show a dash for every other.
"""

SCORES = {"mnist-dense": "92.26 %", "gtsrb-sign-cnn": "93.83 %", "taxinet-runway": "0.824"}
"""Accuracy, or mean absolute error, of the paper's networks."""

COUNTS = {"mnist-sota": "50960 / 5632", "gtsrb-sota": "106416 / 5632"}
"""ReLUs and maxima that the paper counts."""

EXPLANATION_SECONDS = {"mnist-cnn": "4957"}
"""Mean seconds for an explanation, ε = 3 %, complete checks."""
