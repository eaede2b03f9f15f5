"""A formulation for blocks of OMLT.

OMLT (Ceccon et al., *OMLT: Optimization & Machine Learning Toolkit*, JMLR 23, 2022) hands a block
of Pyomo to a formulation, which fills it. This one fills it by :func:`milp_verix.embed`.
"""

import json
import weakref
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import InputError, refusing
from milp_verix.embedding.embed import embed
from milp_verix.embedding.embedded import Embedded
from milp_verix.embedding.sockets import order_of, sides_of
from milp_verix.models.onnx.onnx_network import NetworkLike, OnnxNetwork, loaded
from verix_encodings import BoundMethod, Formulation
from verix_encodings.blocks.enclosures import DEFAULT_SEGMENTS


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
