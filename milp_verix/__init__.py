"""Explain a neural network's prediction with a proof.

    >>> import milp_verix
    >>> network = milp_verix.load_network("examples/digits.onnx")
    >>> explanation = milp_verix.explain(network, image, epsilon=0.1)

The VeriX method (Wu, Wu, Barrett, NeurIPS 2023) with every check compiled to a mixed-integer
program: features outside the explanation may change by up to ε, all at once, and the prediction
provably stays.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milp_verix.asking.problem import Problem
    from milp_verix.auditing.audit import audit
    from milp_verix.auditing.search import AuditProgress
    from milp_verix.certification.certificate import Certificate
    from milp_verix.certification.certify import certify
    from milp_verix.comparison.compare import compare
    from milp_verix.duality.contrast_search import ContrastiveProgress
    from milp_verix.duality.contrastive import contrastive
    from milp_verix.duality.marco import EnumerationProgress, enumerate_explanations
    from milp_verix.duality.relevance import RelevanceProgress, relevance
    from milp_verix.errors import (
        InputError,
        LicenceLimitError,
        MilpVerixError,
        ModelError,
        SolverError,
        SolverUnavailableError,
        UnsupportedOperatorError,
    )
    from milp_verix.global_search.minimum import minimum
    from milp_verix.global_search.search import MinimumProgress
    from milp_verix.global_search.search_limits import SearchLimits
    from milp_verix.inputs.features import (
        Feature,
        binary,
        category,
        continuous,
        fixed,
        integer,
        ordinal,
    )
    from milp_verix.inputs.inputs import Inputs
    from milp_verix.onnx_reader.onnx_network import OnnxNetwork, load_network
    from milp_verix.oracle.check import check
    from milp_verix.oracle.check_program import encode_check
    from milp_verix.problem.search import Search
    from milp_verix.radius.robustness import robustness_radius
    from milp_verix.radius.search import RadiusProgress
    from milp_verix.radius.sweep import epsilon_sweep
    from milp_verix.ranges.inflate import inflate
    from milp_verix.ranges.search import RangesProgress
    from milp_verix.report import write_report
    from milp_verix.results.public import (
        Audit,
        Comparison,
        ContrastiveExplanation,
        Enumeration,
        Explanation,
        Run,
    )
    from milp_verix.results.radii import EpsilonSweep, RobustnessRadii
    from milp_verix.results.ranges import Ranges
    from milp_verix.results.records.base import Counterfactual
    from milp_verix.results.records.comparison import Disagreement
    from milp_verix.results.records.verdict import Answer, Verdict
    from milp_verix.results.relevance import Relevance
    from milp_verix.solvers.backends.pyomo_model import to_pyomo
    from milp_verix.study.batch import Tally, explain_many
    from milp_verix.study.results import read_result
    from milp_verix.study.study_file import run_study
    from milp_verix.study.table import read_study
    from milp_verix.tolerances import Tolerances
    from milp_verix.traversal.explain import explain
    from milp_verix.traversal.explain_search import Progress

    __version__: str

__all__ = [
    "Answer",
    "Audit",
    "AuditProgress",
    "Certificate",
    "Comparison",
    "ContrastiveExplanation",
    "ContrastiveProgress",
    "Counterfactual",
    "Disagreement",
    "Enumeration",
    "EnumerationProgress",
    "EpsilonSweep",
    "Explanation",
    "Feature",
    "InputError",
    "Inputs",
    "LicenceLimitError",
    "MilpVerixError",
    "MinimumProgress",
    "ModelError",
    "OnnxNetwork",
    "Problem",
    "Progress",
    "RadiusProgress",
    "Ranges",
    "RangesProgress",
    "Relevance",
    "RelevanceProgress",
    "RobustnessRadii",
    "Run",
    "Search",
    "SearchLimits",
    "SolverError",
    "SolverUnavailableError",
    "Tally",
    "Tolerances",
    "UnsupportedOperatorError",
    "Verdict",
    "audit",
    "binary",
    "category",
    "certify",
    "check",
    "compare",
    "continuous",
    "contrastive",
    "encode_check",
    "enumerate_explanations",
    "epsilon_sweep",
    "explain",
    "explain_many",
    "fixed",
    "inflate",
    "integer",
    "load_network",
    "minimum",
    "ordinal",
    "read_result",
    "read_study",
    "relevance",
    "robustness_radius",
    "run_study",
    "to_pyomo",
    "write_report",
]

_HOMES = {
    "asking.problem": "Problem",
    "auditing.audit": "audit",
    "auditing.search": "AuditProgress",
    "certification.certificate": "Certificate",
    "certification.certify": "certify",
    "comparison.compare": "compare",
    "duality.contrast_search": "ContrastiveProgress",
    "duality.contrastive": "contrastive",
    "duality.marco": "EnumerationProgress enumerate_explanations",
    "duality.relevance": "RelevanceProgress relevance",
    "errors": "InputError LicenceLimitError MilpVerixError ModelError SolverError "
    "SolverUnavailableError UnsupportedOperatorError",
    "global_search.minimum": "minimum",
    "global_search.search": "MinimumProgress",
    "global_search.search_limits": "SearchLimits",
    "inputs.features": "Feature binary category continuous fixed integer ordinal",
    "inputs.inputs": "Inputs",
    "onnx_reader.onnx_network": "OnnxNetwork load_network",
    "oracle.check": "check",
    "oracle.check_program": "encode_check",
    "problem.search": "Search",
    "radius.robustness": "robustness_radius",
    "radius.search": "RadiusProgress",
    "radius.sweep": "epsilon_sweep",
    "ranges.inflate": "inflate",
    "ranges.search": "RangesProgress",
    "results.ranges": "Ranges",
    "results.records.base": "Counterfactual",
    "results.records.comparison": "Disagreement",
    "results.records.verdict": "Answer Verdict",
    "report": "write_report",
    "results.public": "Audit Comparison ContrastiveExplanation Enumeration Explanation Run",
    "results.radii": "EpsilonSweep RobustnessRadii",
    "results.relevance": "Relevance",
    "solvers.backends.pyomo_model": "to_pyomo",
    "study.batch": "Tally explain_many",
    "study.results": "read_result",
    "study.study_file": "run_study",
    "study.table": "read_study",
    "tolerances": "Tolerances",
    "traversal.explain": "explain",
    "traversal.explain_search": "Progress",
}
"""The names that each module gives to the package, which are loaded when they are used."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker would take any name at all to be there

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from milp_verix.version import version

            value = version()
        elif name in _HOME_OF:
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value
