"""``embed``: a network between the variables of a model of Pyomo, gurobipy or PuLP."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from milp_verix.base.argument_kinds import METHOD, TEXT, TEXTS, checked
from milp_verix.base.arguments import segments_of
from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.errors import InputError
from milp_verix.base.number_text import exact
from milp_verix.base.tolerances import Tolerances
from milp_verix.embedding.embedded import Embedded
from milp_verix.embedding.gurobi_host import GurobiHost
from milp_verix.embedding.host import Host, named
from milp_verix.embedding.pulp_host import PulpHost
from milp_verix.embedding.pyomo_host import PyomoHost
from milp_verix.embedding.sockets import sides_of, sockets_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, loaded
from milp_verix.oracle.bound_tightening import bounds_within, resolve_bounds
from milp_verix.problem.agreement import require_agreement_at
from milp_verix.problem.search import resolve_formulation
from verix_encodings import BoundMethod, Formulation, Interval
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.enclosures import DEFAULT_SEGMENTS
from verix_encodings.encoding import encode_between
from verix_encodings.proofs import encoding_error

_DROPPED = 1e-9
"""Readers of files drop entries of up to this size."""
_RANDOM_POINTS = 3


@checked(bounds=METHOD, name=TEXT, names=TEXTS.or_none())
def embed(  # noqa: PLR0917 - as people write it
    model: Any,
    network: NetworkLike,
    inputs: Any,
    outputs: Any = None,
    formulation: str | Formulation = "big_m",
    bounds: BoundMethod | str = "crown",
    *,
    segments: int = DEFAULT_SEGMENTS,
    name: str = "network",
    names: Sequence[str] | None = None,
) -> Embedded:
    """Add a network to an optimisation model: its outputs become variables of the model.

        >>> model.T = pyomo.environ.Var(bounds=(300, 400))
        >>> plant = milp_verix.embed(model, "plant.onnx", [model.T, model.p])
        >>> model.goal = pyomo.environ.Objective(expr=plant.outputs[0], sense=-1)

    The network is encoded over the box of the inputs' bounds, which may be narrowed later and never
    widened. Every point of the model with an input in this box stays feasible.

    Args:
        model: a concrete model or block of Pyomo, a ``gurobipy.Model``, or a ``pulp.LpProblem``.
        network: a network that was loaded, or what :func:`load_network` takes.
        inputs: the model's variables or expressions that are the network's inputs; numbers are
            inputs that stay. The keys of a dictionary, a Series, a DataFrame of one row or an
            indexed component are the network's names of its inputs; of a pipeline, one for each
            coordinate, such as ``town=Paris``. Or they are places, whole numbers from 0 or 1
            without a gap. Lists and arrays are flat and in the network's order. Each variable has
            finite bounds; those of an expression follow from its variables.
        outputs: variables or expressions that the outputs shall equal, in the same forms, by the
            names of classes; by default the network gets variables of its own. A final Softmax or
            Sigmoid is left out: outputs are the scores before it. Those of a forest that
            classifies are sums over its trees, those of a single tree ranks: ``notes`` tell.
        formulation: how ReLUs are written: ``"big_m"``, ``"indicator"`` or ``"general"``
            constraints (Gurobi), ``"sos1"`` (Gurobi, Pyomo) or ``"partition:N"``.
        bounds: how the bounds of neurons are found: ``"interval"``, ``"crown"``, ``"alpha"``,
            ``"lp"`` or ``"milp"``, each tighter and slower; ``"branched"``; or a function.
        segments: number of pieces that enclose a smooth activation.
        name: the prefix of variables and rows; a number is added where the model has it already.
        names: the names of the inputs in the network's order, for a network that stores none.

    Raises:
        InputError: an argument does not fit, keys are other names than the network's, a variable
            has no bounds, the library of the model lacks what the formulation needs, or the network
            is undefined for some inputs in the box, or leaves float64.
        ModelError: the network cannot be read or encoded.
    """
    host = host_of(model)
    network = loaded(network)
    relu = resolve_formulation(formulation).relu
    method = resolve_bounds(bounds)[1]
    pieces = segments_of(segments)
    sides = sides_of(network, names)
    sockets = sockets_of(host, sides, inputs, outputs)
    require_agreement_at(network, _some_points(network, sockets.box))
    found = bounds_within(method, network.ir, sockets.box, NO_LIMIT)
    encoding = encode_between(
        network.ir,
        found,
        sockets.reach(found[-1]),
        sockets.input_places,
        sockets.output_places,
        relu=relu,
        segments=pieces,
    )
    encoding = replace(encoding, program=encoding.program.without_tiny(_DROPPED))
    name = _unique(host, name)
    variables = host.add(encoding.program, sockets.own, name)
    inside = [variables[j] for j in encoding.input.columns]
    outside = [variables[j] for j in encoding.output.columns]
    for what, i, variable, entry in sockets.equated(inside, outside):
        host.equate(variable, entry, named(name, f"{what}_is_{i}"))
    return Embedded(
        network=network,
        name=name,
        inputs=tuple(inside),
        outputs=tuple(outside),
        bounds=found,
        rounding=encoding_error(network.ir, found),
        notes=_notes(network, encoding.largest_big_m),
        input_names=sides[0].names,
        output_names=sides[1].names,
        _paired=(tuple(sockets.inputs), tuple(sockets.outputs)),
        _host=host,
        _encoding=encoding,
        _variables=tuple(variables),
    )


_HOSTS: dict[str, Callable[[Any], Host]] = {
    "gurobipy": GurobiHost,
    "pulp": PulpHost,
    "pyomo": PyomoHost,
}
_MODELS = {"gurobipy": ("Model",), "pulp": ("LpProblem",), "pyomo": ("BlockData", "_BlockData")}


def host_of(model: Any) -> Host:
    """Return the host for a model, by its class; ``InputError`` for any other object."""
    for cls in type(model).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in _HOSTS and cls.__name__ in _MODELS[package]:
            return _HOSTS[package](model)
    raise InputError(
        "model must be a concrete model or block of Pyomo, a gurobipy.Model or a "
        f"pulp.LpProblem, got {type(model).__module__}.{type(model).__name__}"
    )


def _unique(host: Host, name: str) -> str:
    unique, number = name, 1
    while host.taken(unique):
        number += 1
        unique = f"{name}_{number}"
    return unique


def _some_points(network: LoadedModel, box: Interval) -> FloatArray:
    shares = np.random.default_rng(0).random((_RANDOM_POINTS, box.lower.size))
    points = box.lower + np.vstack([np.full(box.lower.size, 0.5), shares]) * (box.upper - box.lower)
    columns: Any = getattr(getattr(network, "runner", None), "columns", None)
    if hasattr(columns, "with_whole_words"):  # a pipeline is run with words, not with parts of them
        points = columns.with_whole_words(points)
    return np.array([network.as_input(point).reshape(-1) for point in points])


def _notes(network: LoadedModel, largest_big_m: float) -> tuple[str, ...]:
    notes = []
    if largest_big_m > Tolerances().largest_big_m:
        notes.append(
            f"big-Ms reach {largest_big_m:.3g}: a solver's integrality tolerance, times that, may "
            "separate outputs from the network; give the inputs narrower bounds, or bounds='milp'"
        )
    if network.ir.enclosed:
        kinds = ", ".join(sorted(network.ir.enclosed))
        notes.append(
            f"{kinds}: enclosed by lines, so outputs may differ from the network's; more segments "
            "enclose more tightly"
        )
    if getattr(network, "link", None) == "largest":
        notes.append("outputs are ranks of the classes, 0 for the smallest share, and no shares")
    elif (divisor := getattr(network, "divisor", 1.0)) != 1.0:
        own = f"divided by {exact(divisor)} they are the model's own scores"
        notes.append(f"outputs are sums of leaves: {own}")
    if network.ir.stepped:
        notes.append(
            "at a threshold of a tree a solution may have the outputs of either side: check() "
            "tells, and check(repair=True) moves inputs off thresholds, by its tolerance at most"
        )
    return (*notes, *network.notes)
