"""``embed``: a network between the variables of a model of Pyomo, gurobipy or PuLP.

OMLT (Ceccon et al., *OMLT: Optimization & Machine Learning Toolkit*, JMLR 23, 2022) hands a block
of Pyomo to a formulation, which fills it. ``VerixFormulation`` fills it by ``embed``.
"""

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from milp_verix.base.arguments import METHOD, TEXT, TEXTS, checked, segments_of
from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.number_text import exact
from milp_verix.base.tolerances import Tolerances
from milp_verix.embedding.embedded import Embedded
from milp_verix.embedding.host import named
from milp_verix.embedding.hosts import host_of
from milp_verix.embedding.sockets import order_of, sides_of, sockets_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import NetworkLike, OnnxNetwork, loaded
from milp_verix.oracle.ball_bounds import bounds_within, resolve_bounds
from milp_verix.oracle.check_program import require_program_memory
from milp_verix.problem.agreement import require_agreement_at
from milp_verix.problem.search import resolve_formulation
from verix_encodings import BoundMethod, Formulation, Interval
from verix_encodings.arrays import FloatArray
from verix_encodings.encoding import DEFAULT_SEGMENTS, encode_between
from verix_encodings.safe_bounds import encoding_error

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
            has no bounds, the library of the model lacks what the formulation needs, memory does
            not suffice, or the network is undefined for some inputs in the box, or leaves float64.
        ModelError: the network cannot be read or encoded.
    """
    host = host_of(model)
    network = loaded(network)
    relu = resolve_formulation(formulation).relu
    method = resolve_bounds(bounds)[1]
    require_program_memory(network.ir, host.bytes_each)
    pieces = segments_of(segments)
    sides = sides_of(network, names)
    sockets = sockets_of(host, sides, inputs, outputs)
    require_agreement_at(network, _some_points(network, sockets.box))
    found = bounds_within(method, network.ir, sockets.box, NO_LIMIT)
    own, places = sockets.reach(found[-1]), (sockets.input_places, sockets.output_places)
    encoding = encode_between(network.ir, found, own, *places, relu=relu, segments=pieces)
    encoding = replace(encoding, program=encoding.program.without_tiny(_DROPPED))
    wanted, number = name, 1
    while host.taken(name):
        number += 1
        name = f"{wanted}_{number}"
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


class VerixFormulation:
    """The formulation of a network for ``OmltBlock.build_formulation``.

        >>> model.plant = omlt.OmltBlock()
        >>> model.plant.build_formulation(VerixFormulation("plant.onnx", [(0, 1), (0, 2)]))
        >>> model.plant.inputs[0], model.plant.outputs[0]

    Args:
        network: a network that was loaded, or what :func:`load_network` takes.
        input_bounds: a lower and an upper bound for each input, by its index or name or in order;
            of the scaled inputs, as in OMLT. By default those that OMLT's
            ``write_onnx_model_with_bounds`` wrote beside the file.
        scaling: a scaling object of OMLT; the block then has ``scaled_inputs`` and
            ``scaled_outputs``, too.
        formulation: how ReLUs are written; this and the further arguments are those of
            :func:`embed`.

    Raises:
        InputError: an argument does not fit, an input has no bounds, or there are others.
        ModelError: the network cannot be read or encoded.

    Once the block is built, ``embedded`` is what :func:`embed` returns.
    """

    @checked()
    def __init__(
        self,
        network: NetworkLike,
        input_bounds: Mapping[Any, Any] | Sequence[Any] | None = None,
        *,
        scaling: Any = None,
        formulation: str | Formulation = "big_m",
        bounds: BoundMethod | str = "crown",
        segments: int = DEFAULT_SEGMENTS,
    ) -> None:
        known = loaded(network)
        if not isinstance(known, OnnxNetwork):
            raise InputError("blocks of OMLT take networks: milp_verix.embed takes trees, too")
        self._network, self._scaling = known, scaling
        graph = known.model.graph
        declared = next(one for one in graph.input if one.name == known.input_name)
        self.input_indexes = _indexes(declared, known.input_size)
        outputs = (one for one in graph.output if one.name == known.output_name)
        self.output_indexes = _indexes(next(outputs, None), known.output_size)
        self._bounds = self._read(input_bounds)
        self._options: dict[str, Any] = {
            "formulation": formulation,
            "bounds": bounds,
            "segments": segments,
        }
        self._block: Any = None
        self.embedded: Embedded | None = None

    @property
    def block(self) -> Any:
        """The block that is built, or None."""
        return None if self._block is None else self._block()

    def _set_block(self, block: Any) -> None:
        """Take the block to build; OMLT calls it."""
        self._block = weakref.ref(block)

    def _build_formulation(self) -> None:
        """Fill the block; OMLT calls it."""
        block = self.block
        inputs, outputs = block.inputs, block.outputs
        if self._scaling is None:
            for index, (low, high) in self._bounds.items():
                inputs[index].setlb(low)
                inputs[index].setub(high)
        else:
            import omlt.formulation

            theirs: Any = omlt.formulation  # it has types, but not everywhere
            theirs._setup_scaled_inputs_outputs(block, self._scaling, self._bounds)
            inputs, outputs = block.scaled_inputs, block.scaled_outputs
        self.embedded = embed(
            block,
            self._network,
            [inputs[index] for index in self.input_indexes],
            [outputs[index] for index in self.output_indexes],
            **self._options,
        )

    def _read(self, given: Any) -> dict[Any, tuple[float, float]]:
        """Return the bounds of each input by its index."""
        given = _beside(self._network) if given is None else given
        if given is None:
            raise InputError(
                "the inputs of the block have no bounds: give input_bounds, a lower and an upper "
                "bound for each"
            )
        if hasattr(given, "items"):
            pairs = list(given.items())
            order = order_of([key for key, _ in pairs], sides_of(self._network)[0])
            given = [pairs[place][1] for place in order]
        try:
            found = {
                i: (float(low), float(high))
                for i, (low, high) in zip(self.input_indexes, given, strict=True)
            }
        except (TypeError, ValueError) as error:
            raise InputError(
                f"input_bounds is a pair of numbers for each of {len(self.input_indexes)} inputs, "
                f"by the indices {self.input_indexes[0]!r} to {self.input_indexes[-1]!r} or in "
                f"order: {type(error).__name__}: {error}"
            ) from error
        if not np.isfinite(list(found.values())).all():
            raise InputError("input_bounds are finite: a network is embedded over a box")
        return found


def _indexes(declared: onnx.ValueInfoProto | None, size: int) -> list[Any]:
    """Return the indices of a tensor's entries as OMLT has them, without dynamic dimensions."""
    dims = [] if declared is None else list(declared.type.tensor_type.shape.dim)
    known = [dim.dim_value for dim in dims if dim.dim_value > 0]
    if len(known) < 2 or np.prod(known) != size:
        return list(range(size))
    return list(product(*map(range, known)))


def _beside(network: OnnxNetwork) -> dict[Any, tuple[float, float]] | None:
    """Return the bounds in the file that OMLT writes beside a network."""
    if network.path is None:
        return None
    path = Path(f"{network.path}.bounds.json")
    if not path.is_file():
        return None
    with refusing(f"{path} has no bounds as OMLT writes them", ValueError, KeyError, TypeError):
        entries = json.loads(path.read_text(encoding="utf-8"))
        return {
            tuple(one["key"]) if isinstance(one["key"], list) else one["key"]: (
                one["lower_bound"],
                one["upper_bound"],
            )
            for one in entries
        }
