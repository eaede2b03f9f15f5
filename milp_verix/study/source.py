"""A network on its way to the process that does tasks."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from milp_verix.errors import ModelError
from milp_verix.loaded_model import LoadedModel
from milp_verix.onnx_reader import serialised
from milp_verix.onnx_reader.onnx_network import load_network
from milp_verix.study.tasks import network_hash


@dataclass(frozen=True, slots=True)
class Source:
    """A network as another process loads it: a path, or bytes.

    ``path`` and ``sha256`` are those of the original, and ``hashed`` tells whether it is the same.
    """

    model: Path | bytes
    input_shape: tuple[int, ...]
    output: str
    path: Path | None
    sha256: str
    hashed: str

    @classmethod
    def of(cls, network: LoadedModel, *, in_memory: bool = False) -> "Source":
        """Return the source of ``network``; with its bytes if the path is on no shared disk."""
        path = None if network.path is None else network.path.resolve()
        return cls(
            serialised(network.model) if path is None or in_memory else path,
            network.input_shape,
            network.output_name,
            path,
            network.sha256,
            network_hash(network),
        )


@cache
def loaded(source: Source) -> LoadedModel:
    """Return the network, loaded once in each process; ``ModelError`` if its file has changed."""
    network = load_network(source.model, input_shape=source.input_shape, output=source.output)
    if isinstance(source.model, bytes):
        return replace(
            network, path=source.path, sha256=source.sha256, content_sha256=source.hashed
        )
    if network_hash(network) != source.hashed:
        raise ModelError(f"{source.model} changed while the study ran: run it again")
    return network
