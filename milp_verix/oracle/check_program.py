"""The program of a check for use elsewhere: in a file, in a bigger model, with another solver."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from milp_verix.argument_kinds import checked
from milp_verix.arguments import indices_of, resolve_formulation, segments_of
from milp_verix.clock import NO_LIMIT
from milp_verix.inputs.features import Feature
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.bound_tightening import bounds_within, resolve_bounds
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.problem.features import FeaturesLike
from milp_verix.problem.problem import make_problem
from verix_encodings import BoundMethod, Encoding, Formulation, encode
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS


@checked()
def encode_check(
    network: NetworkLike,
    x: ArrayLike,
    free: Sequence[int] | None = None,
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
    bounds: BoundMethod | str = "crown",
    segments: int = DEFAULT_SEGMENTS,
    formulation: str | Formulation = "big_m",
    quadratic: bool = False,
) -> Encoding:
    """Return the program that :func:`milp_verix.check` solves for the features ``free``.

    ``encoding.input`` is ``x'``, flat, and ``encoding.output`` the margins, both as expressions in
    the columns of ``encoding.program``. Classification: ``f_j(x') − f_c(x')`` for each class ``j``
    but the predicted ``c``, ascending. Regression: ``f_k(x') − f_k(x) − delta`` for each output,
    then ``f_k(x) − f_k(x') − delta``. The prediction survives where no margin can be above zero:

        >>> row, constant = encoding.output.row(0, encoding.program.columns)
        >>> encoding.program.write("check.lp", cost=-row)   # least cost = constant − most margin

    The arguments that pose the problem are those of :func:`milp_verix.check`.

    Args:
        free: indices of the features that may change; all of them by default.
        quadratic: for the norm ``"l2"``: the ball as one quadratic row, instead of tangents that
            enclose it.

    Raises:
        InputError: an argument does not fit.
        ModelError: the network cannot be read or encoded.
        OverflowError: the bounds leave the range of float64.
    """
    problem = make_problem(
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
    )
    chosen = range(problem.features.count) if free is None else free
    coordinates = problem.features.coordinates(indices_of(chosen, problem.features.count))
    region = problem.ball.region(coordinates)
    found = bounds_within(resolve_bounds(bounds)[1], problem.margins, region, NO_LIMIT)
    ball = problem.ball.encoding(region, quadratic=quadratic)
    relu = resolve_formulation(formulation).relu
    return encode(problem.margins, found, relu, ball, segments_of(segments))
