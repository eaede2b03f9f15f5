"""A network on its way to the process that does tasks."""

import pickle
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from milp_verix.errors import InputError, ModelError
from milp_verix.loaded_model import LoadedModel
from milp_verix.onnx_reader import serialised
from milp_verix.onnx_reader.onnx_network import OnnxNetwork, load_network
from milp_verix.study.tasks import network_hash


@dataclass(frozen=True, slots=True)
class Source:
    """A network as another process loads it: a path, or bytes.

    ``path`` and ``sha256`` are those of the original, and ``hashed`` tells whether it is the same.
    A model of trees is pickled with the model of its library, and has no ``output``.
    """

    model: Path | bytes
    input_shape: tuple[int, ...]
    output: str | None
    path: Path | None
    sha256: str
    hashed: str

    @classmethod
    def of(cls, network: LoadedModel, *, in_memory: bool = False) -> "Source":
        """Return the source of ``network``; with its bytes if the path is on no shared disk.

        Raises ``InputError`` for a model of trees that cannot be pickled.
        """
        path = None if network.path is None else network.path.resolve()
        output = network.output_name if isinstance(network, OnnxNetwork) else None
        model: Path | bytes
        if not isinstance(network, OnnxNetwork):
            model = _pickled(network)
        elif path is None or in_memory:
            model = serialised(network.model)
        else:
            model = path
        return cls(model, network.input_shape, output, path, network.sha256, network_hash(network))


def _pickled(network: LoadedModel) -> bytes:
    try:
        return pickle.dumps(network)
    except Exception as error:  # each library has its own exceptions
        raise InputError(
            f"the model cannot be pickled for other processes: {error}; give workers=1"
        ) from error


@cache
def loaded(source: Source) -> LoadedModel:
    """Return the network, loaded once in each process; ``ModelError`` if its file has changed."""
    if source.output is None and isinstance(source.model, bytes):
        pickled: LoadedModel = pickle.loads(source.model)
        return pickled
    network = load_network(source.model, input_shape=source.input_shape, output=source.output)
    if isinstance(network, OnnxNetwork) and isinstance(source.model, bytes):
        return replace(
            network, path=source.path, sha256=source.sha256, content_sha256=source.hashed
        )
    if network_hash(network) != source.hashed:
        raise ModelError(f"{source.model!r} changed while the study ran: run it again")
    return network
