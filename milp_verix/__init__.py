"""Explain a neural network's prediction with a proof.

    >>> import milp_verix
    >>> network = milp_verix.load_network("examples/digits.onnx")
    >>> explanation = milp_verix.explain(network, image, epsilon=0.1)

The VeriX method (Wu, Wu, Barrett, NeurIPS 2023) with every check compiled to a mixed-integer
program: features outside the explanation may change by up to ε, all at once, and the prediction
provably stays.
"""

from milp_verix.check import check
from milp_verix.compare import compare
from milp_verix.comparison import Comparison, Disagreement, Run
from milp_verix.contrast_search import ContrastiveProgress
from milp_verix.contrastive import contrastive
from milp_verix.contrastive_explanation import ContrastiveExplanation
from milp_verix.enumeration import Enumeration
from milp_verix.errors import (
    InputError,
    LicenceLimitError,
    MilpVerixError,
    ModelError,
    SolverError,
    SolverUnavailableError,
    UnsupportedOperatorError,
)
from milp_verix.explain import Progress, explain
from milp_verix.explanation import Counterfactual, Explanation
from milp_verix.marco import EnumerationProgress, enumerate_explanations
from milp_verix.minimum import minimum
from milp_verix.minimum_search import MinimumProgress
from milp_verix.onnx_network import OnnxNetwork, load_network
from milp_verix.programs import encode_check
from milp_verix.pyomo_export import to_pyomo
from milp_verix.tolerances import Tolerances
from milp_verix.verdict import Answer, Verdict

__all__ = [
    "Answer",
    "Comparison",
    "ContrastiveExplanation",
    "ContrastiveProgress",
    "Counterfactual",
    "Disagreement",
    "Enumeration",
    "EnumerationProgress",
    "Explanation",
    "InputError",
    "LicenceLimitError",
    "MilpVerixError",
    "MinimumProgress",
    "ModelError",
    "OnnxNetwork",
    "Progress",
    "Run",
    "SolverError",
    "SolverUnavailableError",
    "Tolerances",
    "UnsupportedOperatorError",
    "Verdict",
    "check",
    "compare",
    "contrastive",
    "encode_check",
    "enumerate_explanations",
    "explain",
    "load_network",
    "minimum",
    "to_pyomo",
]
