"""The public names, each from the module that has it: the only list of them."""

from .api.calls import (
    audit as audit,
    check as check,
    compare as compare,
    contrastive as contrastive,
    encode_check as encode_check,
    enumerate_explanations as enumerate_explanations,
    epsilon_sweep as epsilon_sweep,
    explain as explain,
    find_rules as find_rules,
    importance as importance,
    inflate as inflate,
    minimum as minimum,
    relevance as relevance,
    robustness_radius as robustness_radius,
)
from .api.message import Message as Message
from .api.problem_methods import Problem as Problem
from .base.errors import (
    InputError as InputError,
    LicenceLimitError as LicenceLimitError,
    MilpVerixError as MilpVerixError,
    ModelError as ModelError,
    SolverError as SolverError,
    SolverUnavailableError as SolverUnavailableError,
    UnsupportedOperatorError as UnsupportedOperatorError,
)
from .base.tolerances import Tolerances as Tolerances
from .certificates.certificate import Certificate as Certificate
from .certificates.certify import certify as certify
from .comparison.embedded_runs import (
    EmbeddedComparison as EmbeddedComparison,
    EmbeddedRun as EmbeddedRun,
    compare_embedded as compare_embedded,
)
from .embedding.embed import VerixFormulation as VerixFormulation, embed as embed
from .embedding.embedded import Embedded as Embedded
from .embedding.embedded_check import EmbeddedCheck as EmbeddedCheck
from .inputs.feature import (
    Feature as Feature,
    binary as binary,
    category as category,
    continuous as continuous,
    fixed as fixed,
    integer as integer,
    ordinal as ordinal,
)
from .inputs.inputs import Inputs as Inputs
from .models.onnx.onnx_network import (
    OnnxNetwork as OnnxNetwork,
    load_network as load_network,
)
from .oracle.verdict import (
    Answer as Answer,
    Verdict as Verdict,
)
from .problem.search import Search as Search
from .results.answers import Check as Check, Rules as Rules
from .results.audit import Audit as Audit
from .results.base import Counterfactual as Counterfactual
from .results.comparison import (
    Comparison as Comparison,
    Disagreement as Disagreement,
    Run as Run,
)
from .results.contrast import (
    ContrastiveExplanation as ContrastiveExplanation,
    Enumeration as Enumeration,
)
from .results.explanation import EpsilonSweep as EpsilonSweep, Explanation as Explanation
from .results.importance import Importance as Importance, Relevance as Relevance
from .results.ranges import Ranges as Ranges, RobustnessRadii as RobustnessRadii
from .searches.audit_search import AuditProgress as AuditProgress
from .searches.contrast_search import ContrastiveProgress as ContrastiveProgress
from .searches.explain_search import Progress as Progress
from .searches.importance_search import (
    EnumerationProgress as EnumerationProgress,
    RelevanceProgress as RelevanceProgress,
)
from .searches.minimum.minimum_search import MinimumProgress as MinimumProgress
from .searches.minimum.search_limits import SearchLimits as SearchLimits
from .searches.radius_search import RadiusProgress as RadiusProgress
from .searches.ranges.ranges_search import RangesProgress as RangesProgress
from .solvers.backends.pyomo_solvers import to_pyomo as to_pyomo
from .study.journal import read_result as read_result
from .study.many import explain_many as explain_many
from .study.report import (
    write_notice as write_notice,
    write_report as write_report,
)
from .study.solver_study import SolverStudy as SolverStudy, read_solver_study as read_solver_study
from .study.study_file import run_study as run_study
from .study.study_run import Tally as Tally
from .study.table import read_study as read_study

__version__: str
