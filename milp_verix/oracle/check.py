"""One check, as a function: whether the prediction survives every change of some features."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from milp_verix.argument_kinds import checked
from milp_verix.arguments import indices_of
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.request import make_request
from milp_verix.results.records.verdict import Verdict
from milp_verix.tolerances import Tolerances
from verix_encodings import BoundMethod, Formulation
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS


@checked()
def check(
    network: NetworkLike,
    x: ArrayLike,
    free: Sequence[int],
    *,
    epsilon: Epsilon,
    norm: str = "linf",
    delta: float | None = None,
    domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None,
    label: int | None = None,
    against: int | Sequence[int] | None = None,
    output: int | None = None,
    image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None,
    solver: str = "auto",
    time_limit: float | None = 300.0,
    threads: int = 1,
    bounds: BoundMethod | str = "crown",
    segments: int = DEFAULT_SEGMENTS,
    formulation: str | Formulation = "big_m",
    tolerances: Tolerances | None = None,
) -> Verdict:
    """Decide whether the prediction at ``x`` survives every perturbation of the features ``free``.

    The claim: for every ``x'`` in ``domain`` that equals ``x`` outside ``free`` and has
    ``‖x' − x‖ ≤ epsilon`` in ``norm``, the predicted class is the same, or, if ``delta`` is given,
    every output (or the one numbered ``output``) moves by at most ``delta``.

    Args:
        network: an :class:`OnnxNetwork`, the path of an ONNX file, its bytes, or an
            ``onnx.ModelProto``.
        x: the input, of the network's input shape (dimensions of 1 may be left out) or flat; for a
            network with a flat input also an image of one channel, or of ``image_shape``, or a row
            of a table: a DataFrame of one row, a Series, a mapping, a list of one mapping.
        free: indices of the features that may change; see ``features``.
        epsilon: radius of the ball, in the units of the input; for described ``inputs`` also a
            share of each feature's range, ``"10%"``, standard deviations, ``"0.5sd"``,
            ``math.inf`` for the whole domain, or a radius for each feature by name, see
            :mod:`milp_verix.inputs.radii`.
        norm: ``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.
        delta: for regression, the change of an output that counts, in the output's units.
        domain: lower and upper end of the input domain, scalars or arrays of the input's shape.
        features: groups of coordinates, see :func:`milp_verix.problem.features.make_features`.
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
        time_limit: seconds from the call on; None for no limit. Work that cannot be cut short, such
            as reading the network, may end a little later.
        threads: threads that the solver may use.
        bounds: how bounds on the neurons are found: ``"interval"``, ``"crown"``,
            ``"alpha"`` (CROWN with optimised slopes), ``"lp"`` or ``"milp"``, each tighter and
            slower than the one before, or a function.
        segments: number of pieces that enclose each smooth activation, such as a sigmoid, 1 to
            1,000: more pieces decide more checks, and take longer.
        formulation: how ReLUs become rows and columns: ``"big_m"``, ``"indicator"``, ``"sos1"``,
            ``"partition"`` or ``"partition:N"``; not every solver takes every one of them.
        tolerances: the distances that separate a proof from noise.

    Raises:
        InputError: an argument does not fit.
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
        label=label,
        against=against,
        output=output,
        image_shape=image_shape,
        inputs=inputs,
        solver=solver,
        threads=threads,
        tolerances=tolerances,
        time_limit=time_limit,
    )
    problem = request.problem
    chosen = indices_of(free, problem.features.count)
    with Oracle(
        problem,
        solver,
        bounds=bounds,
        segments=segments,
        formulation=formulation,
        threads=threads,
        tolerances=request.tolerances,
    ) as oracle:
        return oracle.check(problem.features.coordinates(chosen), request.deadline)
