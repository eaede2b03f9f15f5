"""Explain a prediction: an order, the VeriX loop over the oracle, and the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import ArrayLike, NDArray

from milp_verix.argument_kinds import checked
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.problem import Problem
from milp_verix.problem.request import make_request
from milp_verix.results.build import counterfactual_of, shared_fields, statistics_of
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.results.public import Explanation
from milp_verix.results.records.statistics import INTERRUPTED, StageStatistics
from milp_verix.results.records.verdict import Stage
from milp_verix.tolerances import Tolerances
from milp_verix.traversal.order import Order, resolve_order, without_order
from milp_verix.traversal.resume import resumption
from milp_verix.traversal.strategies import resolve_strategy
from milp_verix.traversal.traversal import Traversal, Walk, traverse
from verix_encodings import BoundMethod, Formulation
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an explanation: features checked, features in all, features not freed.

    ``activity`` is what goes on now, such as ``"checking 12 features"``, empty after a decision.
    ``snapshot()`` returns the sound explanation so far; it may be called at any time, in any
    thread.
    """

    done: int
    total: int
    explanation_size: int
    activity: str
    snapshot: Callable[[], Explanation]


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
    problem, deadline = request.problem, request.deadline
    strategy = resolve_strategy(traversal)
    earlier = None if resume is None else earlier_explanation(resume, problem)
    order_by = resolve_order(problem, order, transformation=transformation, seed=seed)
    chosen = without_order(problem.features.count, order, "the run ended")
    state = Traversal(chosen.permutation)
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

        def result(state: Traversal) -> Explanation:
            found = explanation_of(problem, chosen, state, oracle, request.elapsed)
            return replace(found, traversal=traversal)

        def on_step(state: Traversal) -> None:
            if snapshots is not None:
                snapshots(partial(result, state.copy()))
            on_activity(state)

        def on_activity(state: Traversal) -> None:
            if progress is not None:
                snapshot = partial(result, state.copy())
                size, whole = state.explanation_size, len(state.order)
                progress(Progress(state.done, whole, size, state.activity, snapshot))

        begun = resumption(earlier, oracle, deadline, request.check_limit)
        if begun.traversal is not None:
            chosen, state = begun.order, begun.traversal
        try:
            if snapshots is not None:
                snapshots(partial(result, state.copy()))
            whole = oracle.prepare(deadline)
            if not state.done:
                chosen = order_by(deadline, whole)
                chosen = replace(chosen, notes=begun.order.notes + chosen.notes)
                state = Traversal(chosen.permutation)
        except KeyboardInterrupt:
            state.stopped = INTERRUPTED
            if oracle.proven:
                state.irrelevant.extend(state.remaining)
            return result(state)
        limit = request.check_limit
        walk = Walk(oracle, state, deadline, limit, on_step, on_activity=on_activity)
        traverse(walk, strategy)
        return with_plain_counterfactuals(result(state), problem)


def explanation_of(
    problem: Problem, order: Order, traversal: Traversal, oracle: Oracle, seconds: float
) -> Explanation:
    """Return the explanation of a traversal, finished or not."""
    effort = traversal.effort
    never_checked = traversal.stopped or "not checked yet"
    unknown = {**traversal.undecided, **dict.fromkeys(traversal.remaining, never_checked)}
    statistics = statistics_of(effort, traversal.checks, seconds, traversal.stopped, oracle.solvers)
    notes = order.notes + oracle.notes
    return Explanation(
        **shared_fields(problem, oracle.solver, oracle.versions, notes),
        order=order.name,
        permutation=order.permutation,
        sensitivity=None if order.sensitivity is None else tuple(order.sensitivity.tolist()),
        explanation=tuple(sorted([*traversal.violated, *unknown])),
        irrelevant=tuple(sorted(traversal.irrelevant)),
        unknown_reasons=unknown,
        counterfactuals={
            feature: counterfactual_of(verdict)
            for feature, verdict in sorted(traversal.violated.items())
        },
        statistics=replace(
            statistics,
            flips=traversal.decided[Stage.POINTS],
            stages=tuple(
                StageStatistics(stage.value, traversal.decided[stage], spent)
                for stage, spent in zip(Stage, effort.stages, strict=True)
            ),
        ),
        bounds=oracle.bounds,
        formulation=oracle.formulation.name,
    )
