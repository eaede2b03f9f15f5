"""``Problem``: a question about one prediction, with methods that answer it.

Written by ``python docs/write_calls.py`` from the tables of calls and options: change these
instead. A call has no body: what :func:`delegated` names is loaded once it is asked.
"""

# fmt: off
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from milp_verix.api.entrance import delegated
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import ArrayLike

    from milp_verix.certificates.certificate import Certificate
    from milp_verix.certificates.certify import Certifiable
    from milp_verix.comparison.repeated import EarlierComparison
    from milp_verix.inputs.feature import Feature
    from milp_verix.inputs.inputs import Inputs
    from milp_verix.inputs.radii import Epsilon
    from milp_verix.models.onnx.onnx_network import NetworkLike
    from milp_verix.problem.ball import Domain
    from milp_verix.problem.features import CostsLike, FeaturesLike
    from milp_verix.problem.search import ClassLike, InputLike, OrderLike
    from milp_verix.results.answers import Check
    from milp_verix.results.audit import Audit
    from milp_verix.results.comparison import Comparison, Pair
    from milp_verix.results.contrast import ContrastiveExplanation, Enumeration
    from milp_verix.results.earlier import EarlierContrast, EarlierImportance, EarlierResult
    from milp_verix.results.explanation import EpsilonSweep, Explanation
    from milp_verix.results.importance import Importance, Relevance
    from milp_verix.results.ranges import Ranges, RobustnessRadii
    from milp_verix.searches.audit_search import AuditProgress
    from milp_verix.searches.contrast_search import ContrastiveProgress
    from milp_verix.searches.explain_search import Progress
    from milp_verix.searches.feature_sets import FeatureSetLike
    from milp_verix.searches.importance_search import EnumerationProgress, RelevanceProgress
    from milp_verix.searches.minimum.minimum_search import MinimumProgress
    from milp_verix.searches.minimum.search_limits import SearchLimits
    from milp_verix.searches.radius_search import RadiusProgress
    from milp_verix.searches.ranges.ranges_search import RangesProgress
    from verix_encodings import Encoding


class Problem(ProblemData):
    """A question about one prediction: network, input, ball and features; checked once.

    Its methods are the searches that answer it. Two problems are equal if network, input, ball,
    question and features are; they can be keys of dictionaries.

    Args:
        network: a model, the path of its file, or its bytes. An :class:`OnnxNetwork`, an ONNX file,
            an ``onnx.ModelProto``, or what else :func:`milp_verix.load_network` takes.
        x: the input, an array or a row of a table. It has the network's input shape (dimensions of
            1 may be left out) or is flat; for a network with a flat input also an image of one
            channel, or of ``image_shape``. A row is a DataFrame of one row, a Series, a mapping, a
            list of one mapping; see :mod:`milp_verix.inputs.one_row`.
        epsilon: radius of the ball, in the units of the input. Or a radius for each feature by
            name; for described ``inputs`` also a share of each feature's range, ``"10%"``, standard
            deviations, ``"0.5sd"``, or ``math.inf`` for the whole domain, see
            :mod:`milp_verix.inputs.radii`.
        norm: ``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.
        delta: for regression, the change of an output that counts, in the output's units.
        domain: lower and upper end of the input domain. Scalars or arrays of the input's shape, or
            by the names of the coordinates; also a DataFrame with both ends as its rows.
        features: what is freed together, each coordinate by default. Or ``"pixels"`` (a pixel with
            its channels), an integer array of the input's shape (group numbers), or lists of flat
            coordinates.
        feature_names: the features' names, a text for each: in summaries and pictures, and wherever
            an argument takes features.
        label: the class explained, by number or name; it must be the predicted one.
        against: the classes that must not overtake the predicted one; by number or name, all others
            by default.
        output: the output that a regression is about; all of them by default.
        image_shape: the shape in which a flat input is an image: ``(height, width)``, ``(height,
            width, channels)`` or ``(channels, height, width)``. ``features="pixels"``, ``x`` and
            figures follow it.
        inputs: a description of the input, :class:`milp_verix.Inputs` or its features: domains,
            whole numbers, categories, and rules between features. ``x`` may then be a mapping from
            their names to values.

    Raises:
        InputError: an argument does not fit the network.
        ModelError: the network cannot be read.
    """

    @delegated("explain", to="problem.problem.pose")
    def __init__(
        self, network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
        delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
        feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
        against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
        image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None
    ) -> None:
        ...

    @delegated("explain", to="searches.explain_search.explain_problem")
    def explain(
        self, *, order: OrderLike = "auto", transformation: str = "reversal",
        traversal: str = "galloping", search: Search = USUAL,
        progress: Callable[[Progress], None] | None = None,
        snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
        resume: EarlierResult | None = None
    ) -> Explanation:
        """Find a locally minimal set of features that, when fixed, keeps the prediction at ``x``.

        Arguments, and errors: :func:`milp_verix.explain`.
        """

    @delegated("minimum", to="searches.minimum.smallest.minimum_of")
    def minimum(
        self, *, costs: CostsLike = None, must: str | Sequence[str | int] = (),
        must_not: str | Sequence[str | int] = (), gap: float = 0.0, at_most: float | None = None,
        method: str = "scenarios", master: str = "auto", limits: SearchLimits | None = None,
        search: Search = USUAL, progress: Callable[[MinimumProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
        resume: EarlierResult | None = None
    ) -> Explanation:
        """Find an explanation with the fewest features, and prove that none has fewer.

        Arguments, and errors: :func:`milp_verix.minimum`.
        """

    @delegated("contrastive", to="searches.contrastive.contrastive_of")
    def contrastive(
        self, *, costs: CostsLike = None, must_not: str | Sequence[str | int] = (),
        minimise: str = "features", count: int = 1, search: Search = USUAL,
        progress: Callable[[ContrastiveProgress], None] | None = None,
        snapshots: Callable[[Callable[[], ContrastiveExplanation]], None] | None = None,
        resume: EarlierContrast | None = None
    ) -> ContrastiveExplanation:
        """Find the fewest features whose change inside the ball changes the prediction.

        Arguments, and errors: :func:`milp_verix.contrastive`.
        """

    @delegated("enumerate", to="searches.importance_search.enumerate_problem")
    def enumerate(
        self, *, limit: int | None = None, search: Search = USUAL,
        progress: Callable[[EnumerationProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Enumeration]], None] | None = None
    ) -> Enumeration:
        """Find the minimal abductive and contrastive explanations of the prediction at ``x``.

        Arguments, and errors: :func:`milp_verix.enumerate_explanations`.
        """

    @delegated("inflate", to="searches.ranges.ranges_search.inflate_problem")
    def inflate(
        self, explanation: FeatureSetLike | None = None, *, rows: Any = None,
        within: Epsilon = math.inf, resolution: float = 0.01, search: Search = USUAL,
        progress: Callable[[RangesProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Ranges]], None] | None = None
    ) -> Ranges:
        """Find the widest ranges of an explanation's features that provably keep the prediction.

        Arguments, and errors: :func:`milp_verix.inflate`.
        """

    @delegated("check", to="searches.explain_search.check_problem")
    def check(
        self, free: Sequence[int | str], *, search: Search = USUAL
    ) -> Check:
        """Decide whether the prediction survives every perturbation of the features ``free``.

        Arguments, and errors: :func:`milp_verix.check`.
        """

    @delegated("audit", to="searches.audit_search.audit_of")
    def audit(
        self, explanation: FeatureSetLike, *, sound_only: bool = False, minimum: bool = False,
        order: OrderLike = "influence", transformation: str = "reversal",
        traversal: str = "galloping", search: Search = USUAL,
        progress: Callable[[AuditProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Audit]], None] | None = None
    ) -> Audit:
        """Judge an explanation by any tool: is it sound, is it minimal, and if not, what would be.

        Arguments, and errors: :func:`milp_verix.audit`.
        """

    @delegated("relevance", to="searches.importance_search.relevance_of")
    def relevance(
        self, feature: str | int | Sequence[str | int], *, search: Search = USUAL,
        progress: Callable[[RelevanceProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Relevance]], None] | None = None
    ) -> Relevance:
        """Decide whether a protected feature is necessary, relevant or irrelevant for the decision.

        Arguments, and errors: :func:`milp_verix.relevance`.
        """

    @delegated("importance", to="searches.importance_search.importance_of")
    def importance(
        self, *, index: str = "shapley", beside: ArrayLike | None = None, search: Search = USUAL,
        progress: Callable[[EnumerationProgress], None] | None = None,
        snapshots: Callable[[Callable[[], Importance]], None] | None = None,
        resume: EarlierImportance | None = None
    ) -> Importance:
        """Weigh the features of the prediction at ``x`` by a power index, with proven brackets.

        Arguments, and errors: :func:`milp_verix.importance`.
        """

    @delegated("radius", to="searches.radius_search.radius_of")
    def radius(
        self, *, free: Sequence[int | str] | None = None, each: bool = False,
        largest: float | None = None, tolerance: float = 0.01, scale: Epsilon = 1.0,
        search: Search = USUAL, progress: Callable[[RadiusProgress], None] | None = None,
        snapshots: Callable[[Callable[[], RobustnessRadii]], None] | None = None
    ) -> RobustnessRadii:
        """Bracket the largest radius at which features are irrelevant together.

        Arguments, and errors: :func:`milp_verix.robustness_radius`.
        """

    @delegated("sweep", to="searches.explain_search.sweep_of")
    def sweep(
        self, epsilons: Epsilon | Sequence[Epsilon], *, nested: bool = True,
        order: OrderLike = "influence", transformation: str = "reversal",
        traversal: str = "galloping", search: Search = USUAL,
        progress: Callable[[Progress], None] | None = None,
        snapshots: Callable[[Callable[[], EpsilonSweep]], None] | None = None
    ) -> EpsilonSweep:
        """Find a locally minimal explanation at each of several radii, the largest first.

        Arguments, and errors: :func:`milp_verix.epsilon_sweep`.
        """

    @delegated("compare", to="comparison.compare.compare_solvers")
    def compare(
        self, *, solvers: str | Sequence[str] | None = None,
        formulations: str | Sequence[str] = ("big_m",), task: str = "check",
        master: str | None = None, checks: Sequence[Sequence[int | str]] | None = None,
        most_checks: int | None = None, rounds: int = 1, seeds: int = 1, substitutes: bool = False,
        relaxations: bool = False, order: OrderLike = "influence", transformation: str = "reversal",
        traversal: str = "galloping", search: Search = USUAL,
        progress: Callable[[Pair], None] | None = None,
        snapshots: Callable[[Callable[[], Comparison]], None] | None = None,
        resume: EarlierComparison | None = None
    ) -> Comparison:
        """Answer the same checks with each solver and formulation, or find the same explanation.

        Arguments, and errors: :func:`milp_verix.compare`.
        """

    @delegated("export", to="oracle.check_program.encode_problem")
    def export(
        self, free: Sequence[int | str] | None = None, *, quadratic: bool = False,
        search: Search = USUAL
    ) -> Encoding:
        """Return the program that :func:`milp_verix.check` solves for the features ``free``.

        Arguments, and errors: :func:`milp_verix.encode_check`.
        """

    def certify(
        self, explanation: Certifiable, *, time_limit: float | None = None
    ) -> Certificate:
        """Return a certificate of an answer, as :func:`milp_verix.certify` does."""
        from milp_verix.certificates.certify import certify

        return certify(self.network, explanation, time_limit=time_limit)

    def __str__(self) -> str:
        """The question in words: the prediction, and the changes under which it is to stay."""
        from milp_verix.views.wording import question_text

        return question_text(self)
