"""Explain a prediction: an order, the VeriX loop over the oracle, and the result."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike, NDArray

from milp_verix.argument_kinds import checked
from milp_verix.clock import Deadline
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.whole_ball import WholeBall
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.request import make_request
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.public import Explanation
from milp_verix.tolerances import Tolerances
from milp_verix.traversal.explain_search import ExplainSearch, Progress
from milp_verix.traversal.order import Order, OrderMaker, resolve_order, without_order
from milp_verix.traversal.resume import resumption
from milp_verix.traversal.strategies import resolve_strategy
from milp_verix.traversal.traversal import Traversal
from verix_encodings import BoundMethod, Formulation
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS


@checked()
def explain(
    network: NetworkLike,
    x: ArrayLike,
    *,
    epsilon: Epsilon,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None,
    feature_names: Sequence[str] | None = None,
    order: str | Sequence[int] | NDArray[Any] = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    label: int | None = None,
    against: int | Sequence[int] | None = None,
    output: int | None = None,
    image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None,
    solver: str = "auto",
    exactness: str = "exact",
    time_limit: float | None = None,
    check_time_limit: float | None = None,
    seed: int = 0,
    threads: int = 1,
    bounds: BoundMethod | str = "crown",
    segments: int = DEFAULT_SEGMENTS,
    formulation: str | Formulation = "big_m",
    reuse: bool = True,
    tolerances: Tolerances | None = None,
    progress: Callable[[Progress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: EarlierResult | None = None,
) -> Explanation:
    """Find a locally minimal set of features that, when fixed, keeps the prediction at ``x``.

    The VeriX method (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1): features are freed one by one in
    a traversal order, each for good if the prediction provably survives. Ctrl-C and the time limit
    return the sound explanation so far, with the features not yet decided in ``unknown``.

    Args:
        network: an :class:`OnnxNetwork`, the path of an ONNX file, its bytes, or an
            ``onnx.ModelProto``.
        x: the input, of the network's input shape (dimensions of 1 may be left out) or flat; for a
            network with a flat input also an image of one channel, or of ``image_shape``, or a row
            of a table: a DataFrame of one row, a Series, a mapping, a list of one mapping.
        epsilon: radius of the ball, in the units of the input; for described ``inputs`` also a
            share of each feature's range, ``"10%"``, standard deviations, ``"0.5sd"``,
            ``math.inf`` for the whole domain, or a radius for each feature by name, see
            :mod:`milp_verix.inputs.radii`.
        norm: ``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.
        delta: for regression, the change of an output that counts, in the output's units.
        domain: lower and upper end of the input domain, scalars or arrays of the input's shape.
        features: ``None`` (each coordinate), ``"pixels"`` (a pixel with its channels), an integer
            array of the input's shape (group numbers), or lists of flat coordinates.
        feature_names: the features' names in summaries and pictures, a text for each.
        order: ``"influence"``, ``"adaptive"``, ``"sensitivity"``, ``"bound"``, ``"bound_crown"``,
            ``"margin"``, ``"random"``, ``"sequential"``, or a list of all features; see
            :mod:`milp_verix.traversal.order`.
        transformation: ``"reversal"`` or ``"deletion"``, for the order ``"sensitivity"``.
        traversal: ``"galloping"``, ``"sequential"``, ``"binary"`` or ``"quickxplain"``: which
            checks are asked; the explanation is the same, see ``traversal.strategies``.
        label: the class explained; it must be the predicted one.
        against: the class, or classes, that must not overtake the predicted one; all others by
            default.
        output: the output that a regression is about; all of them by default.
        image_shape: the shape in which a flat input is an image: ``(height, width)``,
            ``(height, width, channels)`` or ``(channels, height, width)``. ``features="pixels"``,
            ``x`` and figures follow it.
        inputs: a description of the input, :class:`milp_verix.Inputs` or a list of its features:
            domains, whole numbers, categories, and rules between features. ``x`` may then be a
            mapping from their names to values.
        solver: ``"auto"``, ``"highs"``, ``"phase"``, ``"cbc"``, ``"gurobi"``, ``"scip"``,
            ``"split"``, ``"beta"``, ``"pulp"`` or ``"pulp:NAME"``, ``"pyomo"`` or
            ``"pyomo:NAME"``; see ``docs/solvers.md``.
        exactness: ``"exact"``; or, faster and still sound, with features left undecided:
            ``"relaxation"`` (linear relaxations only) or ``"bounds"`` (no program at all).
        time_limit: seconds from the call on, orders and bounds included; None for no limit. Work
            that cannot be cut short, such as reading the network, may end a little later.
        check_time_limit: the most seconds for each check. By default ``time_limit`` is the only
            limit, or the work of 300 seconds where there is none; ``math.inf`` for no limit. Each
            check gets a small slice of the work first, and more once the other features are
            decided. Seconds choose nothing: results without a limit, and with one that is not
            reached, are the same on any machine, however busy (``docs/solvers.md``).
        seed: seed of the order ``"random"``.
        threads: threads that the solver may use. With more than one, runs may differ.
        bounds: how bounds on the neurons are found: ``"interval"``, ``"crown"``,
            ``"alpha"`` (CROWN with optimised slopes), ``"lp"`` or ``"milp"``, each tighter and
            slower than the one before, or a function.
        segments: number of pieces that enclose each smooth activation, such as a sigmoid, 1 to
            1,000: more pieces decide more checks, and take longer.
        formulation: how ReLUs become rows and columns: ``"big_m"``, ``"indicator"``, ``"sos1"``,
            ``"partition"`` or ``"partition:N"``; not every solver takes every one of them.
        reuse: whether a check uses points and bounds of earlier checks; the explanation is the same
            without, and slower.
        tolerances: the distances that separate a proof from noise.
        progress: called before each check, and after each decision.
        snapshots: called with a function that returns the sound result so far: at the start, and
            whenever more is known. The function may be called at any time, in any thread.
        resume: an earlier result of the same question, or the path of its JSON, to go on from: its
            decisions and its order are kept. Counterfactuals are run in onnxruntime again, and the
            claim on the irrelevant features is checked again with a slice of the time. Where that
            does not prove it, the run begins anew; Ctrl-C during that check raises
            ``KeyboardInterrupt``. Give the same ``tolerances``: no result has them.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    request = make_request(
        network,
        x,
        epsilon=epsilon,
        norm=norm,
        delta=delta,
        domain=domain,
        features=features,
        feature_names=feature_names,
        label=label,
        against=against,
        output=output,
        image_shape=image_shape,
        inputs=inputs,
        solver=solver,
        threads=threads,
        tolerances=tolerances,
        time_limit=time_limit,
        check_time_limit=check_time_limit,
    )
    problem = request.problem
    resolve_strategy(traversal)  # an unknown one is refused before a solver is opened
    earlier = None if resume is None else earlier_explanation(resume, problem)
    order_by = resolve_order(problem, order, transformation=transformation, seed=seed)
    with Oracle(
        problem,
        solver,
        bounds=bounds,
        segments=segments,
        formulation=formulation,
        threads=threads,
        tolerances=request.tolerances,
        reuse=reuse,
        exactness=exactness,
    ) as oracle:
        begun = resumption(earlier, oracle, request.deadline, request.check_limit)
        chosen, walked, make = begun.order, begun.traversal, None
        if walked is None:
            chosen = without_order(problem.features.count, order, "the run ended")
            walked, make = Traversal(chosen.permutation), _noted(order_by, begun.order.notes)
        search = ExplainSearch(oracle, request, traversal, chosen, walked, make)
        return search.run(progress, snapshots)


def _noted(order_by: OrderMaker, notes: tuple[str, ...]) -> OrderMaker:
    """Return ``order_by`` with further notes for readers of the result."""

    def made(deadline: Deadline, whole: WholeBall | None) -> Order:
        order = order_by(deadline, whole)
        return replace(order, notes=notes + order.notes)

    return made
