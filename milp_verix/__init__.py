"""Explain a neural network's prediction with a proof.

    >>> import milp_verix
    >>> network = milp_verix.load_network("examples/digits.onnx")
    >>> explanation = milp_verix.explain(network, image, epsilon=0.1)

The VeriX method (Wu, Wu, Barrett, NeurIPS 2023) with every check compiled to a mixed-integer
program: features outside the explanation may change by up to ε, all at once, and the prediction
provably stays.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

    __version__: str

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

_HOMES = {
    "check": "check",
    "compare": "compare",
    "comparison": "Comparison Disagreement Run",
    "contrast_search": "ContrastiveProgress",
    "contrastive": "contrastive",
    "contrastive_explanation": "ContrastiveExplanation",
    "enumeration": "Enumeration",
    "errors": "InputError LicenceLimitError MilpVerixError ModelError SolverError "
    "SolverUnavailableError UnsupportedOperatorError",
    "explain": "Progress explain",
    "explanation": "Counterfactual Explanation",
    "marco": "EnumerationProgress enumerate_explanations",
    "minimum": "minimum",
    "minimum_search": "MinimumProgress",
    "onnx_network": "OnnxNetwork load_network",
    "programs": "encode_check",
    "pyomo_export": "to_pyomo",
    "tolerances": "Tolerances",
    "verdict": "Answer Verdict",
}
"""The names that each module gives to the package, which are loaded when they are used."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


class _Package(ModuleType):
    """A package whose functions are not hidden by the modules that have their names."""

    def __setattr__(self, name: str, value: object) -> None:
        # Python gives every module that it has imported to the package, under the module's name
        if isinstance(value, ModuleType) and _HOME_OF.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker would take any name at all to be there

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value = _version()
        elif name in _HOME_OF:
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("milp-verix")
    except PackageNotFoundError:
        return "0+unknown"  # run from its source, and not installed
