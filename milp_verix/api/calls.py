"""The questions about a prediction, each in one call.

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
from milp_verix.problem.search import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import ArrayLike

    from milp_verix.base.tolerances import Tolerances
    from milp_verix.comparison.repeated import EarlierComparison
    from milp_verix.inputs.feature import Feature
    from milp_verix.inputs.inputs import Inputs
    from milp_verix.inputs.radii import Epsilon
    from milp_verix.models.onnx.onnx_network import NetworkLike
    from milp_verix.problem.ball import Domain
    from milp_verix.problem.features import CostsLike, FeaturesLike
    from milp_verix.problem.search import ClassLike, InputLike, OrderLike
    from milp_verix.results.answers import Check, Rules
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
    from milp_verix.solvers import Solver
    from verix_encodings import BoundMethod, Encoding, Formulation


@delegated("explain", to="searches.explain_search.explain_problem")
def explain(
    network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    order: OrderLike = "auto", transformation: str = "reversal", traversal: str = "galloping",
    solver: str | Solver = "auto", exactness: str = "exact", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, seed: int = 0,
    threads: int = 1, bounds: BoundMethod | str = "auto", segments: int = 6,
    formulation: str | Formulation = "big_m", warm: str = "auto", reuse: bool = True,
    tolerances: Tolerances = USUAL.tolerances, progress: Callable[[Progress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: EarlierResult | None = None
) -> Explanation:
    """Find a locally minimal set of features that, when fixed, keeps the prediction at ``x``.

    The VeriX method (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1): features are freed one by one in
    a traversal order, each for good if the prediction provably survives. Ctrl-C and the time limit
    return the sound explanation so far, with the features not yet decided in ``unknown``.

    Args:
        network: a model, the path of its file, or its bytes.
        x: the input, an array or a row of a table.
        epsilon: radius of the ball, in the units of the input.
        norm: ``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.
        delta: for regression, the change of an output that counts, in the output's units.
        domain: lower and upper end of the input domain.
        features: what is freed together, each coordinate by default.
        feature_names: the features' names, a text for each.
        label: the class explained, by number or name.
        against: the classes that must not overtake the predicted one.
        output: the output that a regression is about.
        image_shape: the shape in which a flat input is an image.
        inputs: a description of the input, :class:`milp_verix.Inputs` or its features.
        order: ``"auto"``, ``"influence"``, ``"boundary_influence"``, ``"total_influence"``,
            ``"adaptive"``, ``"sensitivity"``, ``"bound"``, ``"bound_crown"``, ``"margin"``,
            ``"random"``, ``"sequential"``, or a list of all features; see
            :mod:`milp_verix.searches.order`. ``"auto"`` is ``"influence"``; where many neurons are
            undecided, it is that of the first three by which bounds free the most features. An
            order whose bounds do not exist is replaced by the sequential one, with a note.
        transformation: ``"reversal"`` or ``"deletion"``, for the order ``"sensitivity"``.
        traversal: ``"galloping"``, ``"sequential"``, ``"binary"`` or ``"quickxplain"``: which
            checks are made; the explanation is the same, see :mod:`milp_verix.searches.strategies`.
        solver: the solver's name, or an object.
        exactness: ``"exact"``; or, faster and still sound, with features left undecided.
        time_limit: seconds from the call on, orders and bounds included.
        check_time_limit: the most seconds for each check.
        memory: bytes that the process may hold, or a text such as ``"2 GB"``.
        seed: seed of the order ``"random"``.
        threads: threads that the solver may use, if it can use several.
        bounds: how bounds on the neurons are found.
        segments: number of pieces that enclose each smooth activation, 1 to 1,000.
        formulation: how ReLUs become rows and columns.
        warm: what a solver keeps from one program to the next.
        reuse: whether a check uses points and bounds of earlier checks.
        tolerances: the distances that separate a proof from noise.
        progress: called before each check, and after each decision.
        snapshots: called with a function that returns the sound result so far: at the start, and
            whenever more is known. The function may be called at any time, in any thread.
        resume: an earlier result of the same question, or the path of its JSON, to go on from: its
            decisions and its order are kept. Counterfactuals are run in onnxruntime again, and the
            claim on the irrelevant features is checked again with a slice of the time. Where that
            does not prove it, the run begins anew; Ctrl-C during that check raises
            ``KeyboardInterrupt``. Give the same ``tolerances``: no result has them.

    More on the question: :class:`milp_verix.Problem`; on the search: :class:`milp_verix.Search`.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """


@delegated("minimum", to="searches.minimum.smallest.minimum_of")
def minimum(
    network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    costs: CostsLike = None, must: str | Sequence[str | int] = (),
    must_not: str | Sequence[str | int] = (), gap: float = 0.0, at_most: float | None = None,
    method: str = "scenarios", master: str = "auto", limits: SearchLimits | None = None,
    solver: str | Solver = "auto", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, threads: int = 1,
    warm: str = "auto", tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[MinimumProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: EarlierResult | None = None
) -> Explanation:
    """Find an explanation with the fewest features, and prove that none has fewer.

    There is always an answer: Ctrl-C and the time limit return the best explanation so far with its
    proven ``lower_bound``; ``proven`` says whether the two meet. If time allows, the explanation is
    locally minimal too, with a counterfactual for each feature.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        costs: a finite number of at least zero for each feature, 1 each by default: the explanation
            with the least sum is found. Proofs are faster where all costs are whole multiples of a
            unit. ``InputError`` for costs too far apart to be added up exactly: the largest may be
            a million times the smallest above zero, or whole costs a billion units together. A
            mapping from names or indices of features has one for each, or ``"*"`` for the others.
        must: features that the explanation must contain, by names or indices. A feature among them
            that is not needed is listed in ``unknown``.
        must_not: features that it must not contain; ``InputError`` if these alone can change the
            prediction.
        gap: stop once ``(cost − lower bound) / cost`` is at most this.
        at_most: decide whether an explanation costs at most this, and stop there: ``reachable`` of
            the result is True, with such an explanation, False, with a proof, or None.
        method: ``"scenarios"``, or ``"hitting_sets"``, an independent method to cross-check it, far
            slower on networks with more than a dozen features. Trees, and inputs with whole numbers
            or rules, are answered by hitting sets in any case.
        master: for scenarios, ``"tree"`` searches the relaxation by branch and bound over phases
            and features on one warm linear program of HiGHS, ``"program"`` gives it to ``solver``
            as a mixed-integer program; ``"auto"`` takes the tree if ``solver`` is HiGHS-based.
        limits: a :class:`~milp_verix.SearchLimits`, which divides time and work among techniques
            and may switch some off.
        progress: called with the first lower bound, when all features are still the best
            explanation, and when the best one or the bound changes.
        snapshots: called as by :func:`milp_verix.explain`; features without a known counterfactual
            are unknown in these results.
        resume: as of :func:`milp_verix.explain`; a result of that is taken, too. Its explanation is
            the first incumbent where ``must`` and ``must_not`` are the same. Its scenarios and the
            cases of its lower bound are kept: each case is bounded again before another is split. A
            note tells the bound of the earlier run where that is above what was proven again.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """


@delegated("contrastive", to="searches.contrastive.contrastive_of")
def contrastive(
    network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    costs: CostsLike = None, must_not: str | Sequence[str | int] = (), minimise: str = "features",
    count: int = 1, solver: str | Solver = "auto", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, threads: int = 1,
    warm: str = "auto", tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[ContrastiveProgress], None] | None = None,
    snapshots: Callable[[Callable[[], ContrastiveExplanation]], None] | None = None,
    resume: EarlierContrast | None = None
) -> ContrastiveExplanation:
    """Find the fewest features whose change inside the ball changes the prediction.

    The result has a counterfactual that differs from ``x`` in these features alone, and a proven
    lower bound: Ctrl-C and the time limit return the best contrast so far with it. Of a described
    input its values are near those of ``x``. ``robust`` says
    that no change of any features does it, which is a proof as well.

    ``must_not`` lists features, by names or indices, that a counterfactual must not change, such as
    an age; ``robust`` is then about changes of the other features.

    Described features with a direction (``integer("age", 17, 90, only="up")``) change that way
    alone; ``robust`` and the lower bound are about such changes.

    With ``count`` the result has further changes in ``alternatives``, the least first: each is the
    least among those that do not change all features of a set shown before, with a proven bound.

    ``minimise="distance"`` asks for the nearest counterfactual instead. Its distance is Gower's::

        Σ_f c_f Σ_{i ∈ f} |x'_i − x_i| / s_i,   s_i = min(ε_i, u_i − l_i)

    over the features ``f`` with their coordinates ``i``: each change counts as a share of the
    radius, or of the length of the domain where that is smaller. Whole numbers change by whole
    steps, ordinal values by places, with the radius rounded down. A category counts ``c_f`` if it
    changes, and nothing if not; so does a number that becomes missing, or a missing value that
    becomes a number. ``result.distance`` has it. A prediction changes just beyond a tie, so a
    result counts as proven within 0.1 % of its lower bound; ``result.gap`` is exact.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        costs: a positive number ``c_f`` for each feature: the cheapest set is sought instead of the
            smallest, or the distance is weighed. A mapping is as for :func:`milp_verix.minimum`.
        must_not: features that a counterfactual must not change, by names or indices.
        minimise: ``"features"`` or ``"distance"``.
        count: number of changes to find, the first one included.
        progress: called after each program.
        snapshots: called with a function that returns the result so far: at the start, and whenever
            more is known.
        resume: an earlier result of the same question, or the path of its JSON: its counterfactual
            is run again if it leaves ``must_not`` alone. Its lower bound is no proof: a note tells
            it where it is above that of this run.
    """


@delegated("enumerate", to="searches.importance_search.enumerate_problem")
def enumerate_explanations(
    network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    limit: int | None = None, solver: str | Solver = "auto", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, threads: int = 1,
    warm: str = "auto", tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Enumeration]], None] | None = None
) -> Enumeration:
    """Find the minimal abductive and contrastive explanations of the prediction at ``x``.

    There may be exponentially many: ``limit`` stops once so many were found, of both kinds
    together; the time limit and Ctrl-C return those found so far. A set whose check is UNKNOWN
    is listed on neither side, and the enumeration is then not complete.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        limit: the most explanations, of both kinds together; None for all.
        progress: called after each round.
        snapshots: called with a function that returns the result so far: at the start, and after
            each explanation that is found.
    """


@delegated("inflate", to="searches.ranges.ranges_search.inflate_problem")
def inflate(
    network: NetworkLike, x: InputLike, explanation: FeatureSetLike | None = None, *,
    epsilon: Epsilon, norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, rows: Any = None, within: Epsilon = math.inf,
    resolution: float = 0.01, solver: str | Solver = "auto", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, seed: int = 0,
    threads: int = 1, bounds: BoundMethod | str = "auto", segments: int = 6,
    formulation: str | Formulation = "big_m", warm: str = "auto",
    tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[RangesProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Ranges]], None] | None = None
) -> Ranges:
    """Find the widest ranges of an explanation's features that provably keep the prediction.

    An inflated abductive explanation (Izza, Ignatiev, Stuckey, Marques-Silva, AAAI 2024): the
    prediction stays with each kept feature anywhere in its range, all of them at once, and all
    other features free as in the question. The ranges are maximal: one step beyond each, the others
    as they are, there is a counterfactual. A step of a whole number is 1, of a category another
    word, of a real number ``resolution``; those of trees end at their
    thresholds, unless there are rules. Which of several maximal boxes is found depends on the order
    in which ranges are widened: first the one that gains the most of the ``rows``, without rows the
    widest. The norm must be L∞. Ctrl-C and the time limit return the ranges so far.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        explanation: the features to keep, as for :func:`milp_verix.audit`; by default those of
            :func:`milp_verix.explain`.
        rows: inputs that are worth covering, and whose share in the ranges is counted: an array
            with an input in each row, a DataFrame or a list of mappings, by the names of columns.
        within: how far kept features may move at most, as ``epsilon`` is given; by default over
            their whole domain.
        resolution: how near to the end of a real range a counterfactual must be, as a share of the
            feature's headroom.
        progress: called after each end that is decided.
        snapshots: called with a function that returns the ranges so far.

    Raises:
        InputError: an argument does not fit; the features to keep are no explanation; a kept
            feature may move without end.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """


@delegated("check", to="searches.explain_search.check_problem")
def check(
    network: NetworkLike, x: InputLike, free: Sequence[int | str], *, epsilon: Epsilon,
    norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, solver: str | Solver = "auto",
    time_limit: float | None = None, check_time_limit: float | None = None,
    memory: float | str | None = None, threads: int = 1, bounds: BoundMethod | str = "auto",
    segments: int = 6, formulation: str | Formulation = "big_m", warm: str = "auto",
    tolerances: Tolerances = USUAL.tolerances
) -> Check:
    """Decide whether the prediction survives every perturbation of the features ``free``.

    The claim: for every ``x'`` in ``domain`` that equals ``x`` outside ``free`` and has
    ``‖x' − x‖ ≤ epsilon`` in ``norm``, the predicted class is the same, or, if ``delta`` is given,
    every output (or the one numbered ``output``) moves by at most ``delta``.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        free: the features that may change, by indices or names, or a mask; see ``features``.
    """


@delegated("audit", to="searches.audit_search.audit_of")
def audit(
    network: NetworkLike, x: InputLike, explanation: FeatureSetLike, *, epsilon: Epsilon,
    norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, sound_only: bool = False,
    minimum: bool = False, order: OrderLike = "influence", transformation: str = "reversal",
    traversal: str = "galloping", solver: str | Solver = "auto", exactness: str = "exact",
    time_limit: float | None = None, check_time_limit: float | None = None,
    memory: float | str | None = None, seed: int = 0, threads: int = 1,
    bounds: BoundMethod | str = "auto", segments: int = 6, formulation: str | Formulation = "big_m",
    warm: str = "auto", reuse: bool = True, tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[AuditProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Audit]], None] | None = None
) -> Audit:
    """Judge an explanation by any tool: is it sound, is it minimal, and if not, what would be.

    Sound: with the features in ``explanation`` fixed, no change of the others in the ball changes
    the prediction; this is proven, or refuted by an input run in onnxruntime. Of a sound set the
    result has the features that can be left out, all together, and a counterfactual for each other
    feature. To another set it adds features that make it sound, as few as the order finds. Ctrl-C
    and the time limit return the result so far; "not known" is an answer, too. The check of
    soundness may take half of a limited time.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        explanation: the features that are said to keep the prediction: their indices or names; a
            mask, an array or list of bool or of 0.0 and 1.0 (of 0 and 1 with two axes or more) with
            an entry for each coordinate, each pixel or each feature; or an :class:`Explanation`,
            whose groups :func:`milp_verix.audit` takes if ``features`` is None.
        sound_only: whether to end once soundness is decided.
        minimum: whether to search the smallest sound set of all, too, and, for a set that is not
            sound, the smallest one that holds it (:func:`milp_verix.minimum`).
        order: the order in which features are tried, as for :func:`milp_verix.explain`.
        transformation: as for :func:`milp_verix.explain`.
        traversal: as for :func:`milp_verix.explain`.
        progress: called at the start, before each check, and after each decision.
        snapshots: called with a function that returns the result so far.
    """


@delegated("relevance", to="searches.importance_search.relevance_of")
def relevance(
    network: NetworkLike, x: InputLike, feature: str | int | Sequence[str | int], *,
    epsilon: Epsilon, norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, solver: str | Solver = "auto",
    time_limit: float | None = None, check_time_limit: float | None = None,
    memory: float | str | None = None, threads: int = 1, warm: str = "auto",
    tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[RelevanceProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Relevance]], None] | None = None
) -> Relevance:
    """Decide whether a protected feature is necessary, relevant or irrelevant for the decision.

    ``feature`` is a name, an index, or several of these, which count as one feature: *necessary*
    if every explanation of the prediction at ``x`` contains one of them, that is, if changing them
    alone can change the prediction; *relevant* if some minimal explanation does; *irrelevant* if
    none does. The result has the proof of a difference: two inputs that differ in these features
    alone and are decided differently.

    The number of checks may grow exponentially with that of the other features; at the time limit
    and after Ctrl-C the answers proven by then come back, None for an open one.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        feature: the protected feature, or several, by names or indices.
        progress: called before each set that is tried.
        snapshots: called with a function that returns the result so far, before each set.
    """


@delegated("importance", to="searches.importance_search.importance_of")
def importance(
    network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    index: str = "shapley", beside: ArrayLike | None = None, solver: str | Solver = "auto",
    time_limit: float | None = None, check_time_limit: float | None = None,
    memory: float | str | None = None, threads: int = 1, warm: str = "auto",
    tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Importance]], None] | None = None,
    resume: EarlierImportance | None = None
) -> Importance:
    """Weigh the features of the prediction at ``x`` by a power index, with proven brackets.

    A set of features is worth 1 if fixing it keeps the prediction, else 0. The index says how much
    each feature has to do with that:

    - ``"shapley"``: over all orders of the features, how often a feature turns a set into one that
      keeps the prediction (Shapley, Shubik); the values sum up to 1;
    - ``"holler-packel"``: the share of minimal explanations that contain a feature, its formal
      feature attribution (Yu, Ignatiev, Stuckey, 2023);
    - ``"deegan-packel"``: the same, with each explanation shared out among its features;
    - ``"responsibility"``: 1 / k for a feature whose smallest minimal explanation has k features
      (Biradar, Izza, Lobo, Viswanathan, Zick, AAAI 2024).

    The result has a bracket for each feature at any time: the time limit and Ctrl-C return the one
    so far. Values are exact once all sets are decided, which takes seconds for some twenty features
    and may take too long for many. ``result.under(index)`` has another index without a search.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        index: ``"shapley"``, ``"holler-packel"``, ``"deegan-packel"`` or ``"responsibility"``.
        beside: a score of each feature by another tool, such as a SHAP value, in their order or by
            name; scores of coordinates add up in their feature. ``result.misordered`` has the pairs
            of features that the size of these scores orders otherwise than is proven of the index.
        progress: called after each set that is found.
        snapshots: called with a function that returns the result so far: at the start, and after
            each set that is found.
        resume: an earlier result of the same question, by any index, or the path of its JSON: its
            counterfactuals are run again, and its sets that keep the prediction are proven again.
    """


@delegated("radius", to="searches.radius_search.radius_of")
def robustness_radius(
    network: NetworkLike, x: InputLike, *, norm: str = "linf", delta: float | None = None,
    domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    free: Sequence[int | str] | None = None, each: bool = False, largest: float | None = None,
    tolerance: float = 0.01, scale: Epsilon = 1.0, solver: str | Solver = "auto",
    time_limit: float | None = None, check_time_limit: float | None = None,
    memory: float | str | None = None, threads: int = 1, bounds: BoundMethod | str = "auto",
    segments: int = 6, formulation: str | Formulation = "big_m", warm: str = "auto",
    tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[RadiusProgress], None] | None = None,
    snapshots: Callable[[Callable[[], RobustnessRadii]], None] | None = None
) -> RobustnessRadii:
    """Bracket the largest radius at which features are irrelevant together.

    The radius is the supremum of all ``ε`` for which no change of the features ``free`` by at most
    ``ε`` in ``norm``, inside the domain, changes the prediction while all other features stay. With
    all features free it is the robustness radius of the input. The bracket has a proof at its lower
    end and a counterfactual at its upper end. Ctrl-C and the time limit return the bracket so far.

    Of described ``inputs``, the radius ``ε`` stands for the radii ``ε · scale`` of the features.
    Whole numbers and values of categories only move in steps, so the supremum is where the next
    step comes within reach.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        free: the features that change together, by indices or names; all of them by default.
        each: whether to bracket the radius of each feature alone instead.
        largest: the largest radius to ask about, in the units of the input; by default that of the
            domain. An unlimited domain needs it.
        tolerance: the width that a bracket is to have, as a share of its upper end.
        scale: of described inputs, the radius of each feature at the radius 1, given as ``epsilon``
            is for :func:`milp_verix.explain`: 1 for a radius in each feature's unit, ``"100%"`` for
            a share of each range, radii by name for a factor of these.
        progress: called before each question.
        snapshots: called with a function that returns the result so far. The function may be called
            at any time, in any thread.
    """


@delegated("sweep", to="searches.explain_search.sweep_of")
def epsilon_sweep(
    network: NetworkLike, x: InputLike, *, epsilons: Epsilon | Sequence[Epsilon],
    norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, nested: bool = True,
    order: OrderLike = "influence", transformation: str = "reversal", traversal: str = "galloping",
    solver: str | Solver = "auto", exactness: str = "exact", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, seed: int = 0,
    threads: int = 1, bounds: BoundMethod | str = "auto", segments: int = 6,
    formulation: str | Formulation = "big_m", warm: str = "auto", reuse: bool = True,
    tolerances: Tolerances = USUAL.tolerances, progress: Callable[[Progress], None] | None = None,
    snapshots: Callable[[Callable[[], EpsilonSweep]], None] | None = None
) -> EpsilonSweep:
    """Find a locally minimal explanation at each of several radii, the largest first.

    Features that are irrelevant together at a radius are irrelevant together at every smaller one,
    so each radius begins with those of the radius before (Wu, Wu, Barrett, NeurIPS 2023, Figure 6).
    Ctrl-C and the time limit return sound explanations at all radii; features not decided yet are
    in ``unknown``. Radii share a time limit: each may take an equal part of the time that is left.
    The radius of the problem itself is not used.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        epsilons: different radii in any sequence, in the units of the input. Of described
            ``inputs``, each is a number, a share of each feature's range such as ``"10%"``, or
            radii by name; of any two, one is at least as large for every feature.
        nested: whether a radius begins with the irrelevant features of the radius before; if not,
            each explanation is that of :func:`milp_verix.explain`.
        order: as for :func:`milp_verix.explain`.
        transformation: as for :func:`milp_verix.explain`.
        traversal: as for :func:`milp_verix.explain`.
        progress: called as by :func:`milp_verix.explain`, for one radius after the other.
        snapshots: called with a function that returns the sweep so far: the radii that were
            reached.
    """


@delegated("compare", to="comparison.compare.compare_solvers")
def compare(
    network: NetworkLike, x: InputLike, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    solvers: str | Sequence[str] | None = None, formulations: str | Sequence[str] = ("big_m",),
    task: str = "check", master: str | None = None,
    checks: Sequence[Sequence[int | str]] | None = None, most_checks: int | None = None,
    rounds: int = 1, seeds: int = 1, substitutes: bool = False, relaxations: bool = False,
    order: OrderLike = "influence", transformation: str = "reversal", traversal: str = "galloping",
    exactness: str = "exact", time_limit: float | None = None,
    check_time_limit: float | None = None, memory: float | str | None = None, seed: int = 0,
    threads: int = 1, bounds: BoundMethod | str = "auto", segments: int = 6, warm: str = "auto",
    reuse: bool = True, tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[Pair], None] | None = None,
    snapshots: Callable[[Callable[[], Comparison]], None] | None = None,
    resume: EarlierComparison | None = None
) -> Comparison:
    """Answer the same checks with each solver and formulation, or find the same explanation.

    Every definite verdict of a run is compared with every counterfactual of the other runs, see
    ``milp_verix.comparison.contradictions``; contradictions are in ``disagreements``. A pair that
    does not fit (the solver is not installed, or does not take the formulation) is in ``skipped``
    with the reason. Ctrl-C ends the comparison with the runs finished by then.

    ``time_limit`` holds for all of it: the explanation that the checks come from, and each run
    after it, gets an equal share of the time that is left.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        solvers: their names, or one, of ``"highs"``, ``"phase"``, ``"cbc"``, ``"gurobi"``,
            ``"scip"``, ``"xpress"``, ``"copt"``, ``"cplex"``, ``"ortools"``, ``"pulp"``,
            ``"pyomo"``, ``"split"``, ``"beta"``, ``"leaves"``, ``"pulp:NAME"`` or ``"pyomo:NAME"``;
            by default all that are installed.
        formulations: their names, such as ``"big_m"`` or ``"partition:4"``.
        task: ``"check"``: each pair answers the same checks, each by itself, with nothing learned
            from the ones before; ``"explain"``: each pair finds an explanation, and which checks it
            asks depends on the points that its solver finds; ``"minimum"``: each pair finds a
            minimum explanation with a proven bound; ``"contrastive"``: a smallest contrast.
        master: of minima, as for :func:`milp_verix.minimum`: ``"program"``, by which the solvers
            differ, ``"tree"``, which is the same for all, or ``"auto"``; by default ``"program"``,
            and ``"auto"`` where hitting sets alone answer (trees, whole numbers and rules).
        checks: lists of free features, each a check; by default the checks that decide an
            explanation, which ``auto`` finds before the runs.
        most_checks: the most checks of the explanation that are compared: spread evenly over those
            that bounds and attacks alone do not decide. By default all of them.
        rounds: how often each pair runs, in turns, 1 to 100; the run with the median time counts.
        seeds: how often each program is solved, 1 to 100: once as it stands, then with the solver's
            seeds 1, 2, … and rows and columns in another order; of ``task="check"`` alone.
        substitutes: whether another solver takes over what is beyond a licence, and is named then;
            by default such a program is not run.
        relaxations: whether the records of each program have the optimum of the linear relaxation,
            which HiGHS finds, outside of the times of the runs.
        order: as for :func:`milp_verix.explain`; where ``checks`` are given there is none.
        transformation: as for :func:`milp_verix.explain`.
        traversal: as for :func:`milp_verix.explain`.
        progress: called with each pair before it runs.
        snapshots: called as by :func:`milp_verix.explain`: at the start and after each run.
        resume: an earlier comparison of the same checks, or the path of its JSON: programs that it
            answered are not solved again, but for those with a counterfactual, which records do not
            hold. Pairs of solver and formulation may be others.

    Raises:
        InputError: an argument does not fit, or no pair does.
        ModelError: the network cannot be read or encoded.
    """


@delegated("export", to="oracle.check_program.encode_problem")
def encode_check(
    network: NetworkLike, x: InputLike, free: Sequence[int | str] | None = None, *,
    epsilon: Epsilon, norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, quadratic: bool = False,
    bounds: BoundMethod | str = "auto", segments: int = 6, formulation: str | Formulation = "big_m"
) -> Encoding:
    """Return the program that :func:`milp_verix.check` solves for the features ``free``.

    ``encoding.input`` is ``x'``, flat, and ``encoding.output`` the margins, both as expressions in
    the columns of ``encoding.program``. Classification: ``f_j(x') − f_c(x')`` for each class ``j``
    but the predicted ``c``, ascending. Regression: ``f_k(x') − f_k(x) − delta`` for each output,
    then ``f_k(x) − f_k(x') − delta``. The prediction survives where no margin can be above zero:

        >>> row, constant = encoding.output.row(0, encoding.program.columns)
        >>> encoding.program.write("check.lp", cost=-row)   # least cost = constant − most margin

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        free: the features that may change, by indices or names; all of them by default.
        quadratic: for the norm ``"l2"``: the ball as one quadratic row, instead of tangents that
            enclose it.

    Raises:
        InputError: an argument does not fit, or the network is undefined for some inputs of the
            ball, or leaves float64.
        ModelError: the network cannot be read or encoded.
    """


@delegated("rules", to="searches.ranges.ranges_search.rules_of_table")
def find_rules(
    network: NetworkLike, rows: Any, *, epsilon: Epsilon, norm: str = "linf",
    delta: float | None = None, domain: Domain = UNIT_DOMAIN, features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None, label: ClassLike | None = None,
    against: ClassLike | Sequence[ClassLike] | None = None, output: int | None = None,
    image_shape: Sequence[int] | None = None, inputs: Inputs | Sequence[Feature] | None = None,
    count: int = 12, tries: int | None = None, seed: int = 0, time_limit: float | None = None,
    memory: float | str | None = None
) -> Rules:
    """Find a few proven rules that cover the rows of a table.

    Rows that no rule covers yet are drawn one after the other, explained, and inflated towards the
    other rows of their class (:func:`milp_verix.inflate`). Out of all rules found, those are chosen
    that add the most rows, greedily: a cover within a factor ``1 − 1/e`` of the best choice of as
    many of these rules (Nemhauser, Wolsey, Fisher, 1978). Each rule is a proof about every input in
    its ranges, not about the rows alone.

    ``options`` are the options of the question; ``epsilon=math.inf`` lets all features outside a
    rule take any value.

    Network, input, shared options and usual errors: see :func:`milp_verix.explain`.

    Args:
        rows: inputs, as ``rows`` of :func:`milp_verix.inflate`.
        count: the most rules to return.
        tries: rows to explain; three for each rule by default.
        seed: seed of the rows drawn.
        time_limit: seconds; the rules found by then are returned.

    Raises:
        InputError: an argument does not fit, or no row is an input of the question.
        ModelError: the network cannot be read or encoded.
    """
