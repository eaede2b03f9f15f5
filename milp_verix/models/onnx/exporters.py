"""Models of other libraries in memory, turned into ONNX by these libraries' own exporters.

A network of any library may stand behind a fitted transformer of scikit-learn, as one model.

None of the libraries is imported to find out whose a model is: the names of its classes tell.
"""

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import InputError, ModelError, first_line, refusing
from milp_verix.inputs.fitted import Missing, bases_of
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.models.onnx import model_file
from milp_verix.models.onnx.model_file import ModelSource
from milp_verix.models.onnx.table_model import behind, refuse_trees, require_equal, table_model

_ACCEPTED = (
    "the path of an ONNX file, its bytes, an onnx.ModelProto, a torch.nn.Module, a fitted "
    "scikit-learn estimator, a Keras model, or trees of XGBoost or LightGBM"
)


def as_onnx(source: Any, example: Any = None) -> ModelSource:
    """Return ``source`` if it is ONNX already, otherwise the ONNX model that its library exports.

    ``example`` is an input of the shape that a PyTorch module takes, the batch of one included; or
    a DataFrame of rows at which a scikit-learn pipeline is compared with its network, too.
    Modules are exported as they behave in evaluation. Raises ``InputError`` for anything that is
    no model, and where the exporter is not installed; ``ModelError`` where it fails.
    """
    if isinstance(source, str | PathLike | bytes | onnx.ModelProto):
        return source
    refuse_trees(source)
    kind = _kind(source)
    if kind is None:
        raise InputError(
            f"the network is a {type(source).__name__}, expected {_ACCEPTED}; export any other "
            "model to ONNX with its own library and give the file"
        )
    library, install, export = _EXPORTERS[kind]
    if kind == "torch" and any(map(_trains, source.modules())):
        warnings.warn(
            "the module is in training mode: it is read as it behaves in evaluation, without "
            "Dropout and with the statistics of BatchNorm; module.eval() runs it so",
            stacklevel=2,
        )
    with tempfile.TemporaryDirectory() as folder, _quiet():
        file = Path(folder) / "model.onnx"
        try:
            model = export(source, example, file)
        except (InputError, ModelError):
            raise
        except ImportError as error:
            raise InputError(
                f"{library} needs {error.name or first_line(error)} to export a model to ONNX: "
                f"{install}"
            ) from error
        except Exception as error:  # each exporter has its own exceptions
            first = error
            while isinstance(first.__cause__, Exception):
                first = first.__cause__  # exporters wrap it in advice on themselves
            raise ModelError(
                f"{library} cannot export this {type(source).__name__} to ONNX: {first_line(first)}"
            ) from error
    return _without_remarks(model)


def _kind(source: Any) -> str | None:
    """Return the name of the library that ``source`` is a model of, None for any other object."""
    if isinstance(source, type):
        return None
    bases = bases_of(source)
    # a Keras model may be a PyTorch module, too
    for kind, base in (("keras", "Model"), ("torch", "Module"), ("sklearn", "BaseEstimator")):
        if (kind, base) in bases:
            return kind
    return None


def _trains(part: Any) -> bool:
    """Return whether a part of a PyTorch module would compute otherwise in evaluation."""
    kinds = {base.__module__ for base in type(part).__mro__}
    return bool(part.training) and not kinds.isdisjoint(
        ("torch.nn.modules.dropout", "torch.nn.modules.batchnorm")
    )


def _export_torch(module: Any, example: Any, file: Path) -> onnx.ModelProto:
    import torch

    if example is None:
        raise InputError(
            "a torch.nn.Module does not know the shape of its input: give one with "
            "load_network(module, example=x), the batch of one included"
        )
    weights = next(module.parameters(), torch.zeros(()))
    several = isinstance(example, tuple) and all(np.ndim(part) for part in example)
    xs = tuple(
        torch.as_tensor(np.asarray(part), dtype=weights.dtype, device=weights.device)
        for part in (example if several else (example,))
    )
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.no_grad():
            module(*xs)  # the exporter's own message for a wrong shape is long
        torch.onnx.export(module, xs, file, verbose=False)
    finally:
        for part, training in modes.items():
            part.training = training
    return onnx.load(file)


def _export_keras(model: Any, _example: Any, file: Path) -> onnx.ModelProto:
    # the exporter takes the shapes of the last call
    model(np.zeros([1 if size is None else size for size in model.input_shape], np.float32))
    model.export(str(file), format="onnx", verbose=False)
    return onnx.load(file)


_EXPORTERS: dict[str, tuple[str, str, Callable[[Any, Any, Path], onnx.ModelProto]]] = {
    "torch": ("PyTorch", "pip install 'milp-verix[torch]'", _export_torch),
    "sklearn": (
        "scikit-learn",
        "pip install 'milp-verix[sklearn]'",
        lambda estimator, rows, _: table_model(estimator, rows),
    ),
    "keras": ("Keras", "install the packages that its model.export asks for", _export_keras),
}
"""For each library its name, the remedy for an exporter that is missing, and its exporter."""


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the notices of exporters on their own versions and methods."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)


def _without_remarks(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove notes on where in a user's files each node comes from: equal models hash equally."""
    parts = (*model.graph.node, *model.graph.initializer, *model.graph.value_info)
    for part in (model, model.graph, *parts, *model.graph.input, *model.graph.output):
        part.doc_string = ""
        facts = [entry.value for entry in part.metadata_props if entry.key == model_file.FACTS_KEY]
        del part.metadata_props[:]
        for text in facts:
            part.metadata_props.add(key=model_file.FACTS_KEY, value=text)
    return model


_ROUNDING = 1e-6
"""Rounding of the numbers, relative to the largest: a scaled number may be far from zero before."""


def behind_transformer(
    source: Any,
    transformer: Any,
    frame: Any = None,
    output: str | None = None,
    missing: Missing = (),
) -> onnx.ModelProto:
    """Return the model of rows of a table that ``transformer`` turns into inputs of ``source``.

    The numbers that rows become are compared, with a DataFrame ``frame`` those of its rows, too;
    words and numbers may be ``missing`` as in :func:`.encoding_of`. Raises ``InputError`` for a
    transformer that is not known, and for a network of another input; ``ModelError`` where numbers
    differ.
    """
    encoding = encoding_of(transformer, missing=missing)
    width = encoding.matrix.shape[1]
    require_equal(
        encoding,
        transformer,
        frame,
        found=encoding.encoded,
        expected=lambda table: _dense(transformer.transform(table)),
        rounding=_ROUNDING,
    )
    model, _ = model_file.read_model(as_onnx(source, np.zeros((1, width), np.float32)))
    with refusing(f"the transformer makes {width} numbers of a row", InputError):
        signature = model_file.read_signature(model.graph, input_shape=(1, width), output=output)
    return behind(encoding, model, signature.input_name)


def _dense(codes: Any) -> Any:
    return codes.toarray() if hasattr(codes, "toarray") else codes
