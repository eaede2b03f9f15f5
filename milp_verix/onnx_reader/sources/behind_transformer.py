"""A network of any library behind a fitted transformer of scikit-learn, as one ONNX model."""

from typing import Any

import numpy as np
import onnx

from milp_verix.errors import InputError, ModelError
from milp_verix.inputs.table_encoding import TableEncoding, encoding_of
from milp_verix.onnx_reader.signature import read_signature
from milp_verix.onnx_reader.sources.conversion import as_onnx
from milp_verix.onnx_reader.sources.external_data import embed
from milp_verix.onnx_reader.sources.model_file import path_of, read_model
from milp_verix.onnx_reader.sources.table_model import behind, rows_of

_ROUNDING = 1e-9


def behind_transformer(
    source: Any, transformer: Any, frame: Any = None, output: str | None = None
) -> onnx.ModelProto:
    """Return the model of rows of a table that ``transformer`` turns into inputs of ``source``.

    With a DataFrame ``frame`` the numbers that its rows become are compared. Raises ``InputError``
    for a transformer that is not known, and for a network of another input; ``ModelError`` where
    numbers differ.
    """
    encoding = encoding_of(transformer)
    width = encoding.matrix.shape[1]
    if hasattr(frame, "columns"):
        _require_same_numbers(encoding, transformer, frame)
    found = as_onnx(source, np.zeros((1, width), np.float32))
    path = path_of(found)
    model, _ = read_model(found)
    embed(model, None if path is None else path.parent)
    try:
        signature = read_signature(model.graph, input_shape=(1, width), output=output)
    except InputError as error:
        raise InputError(f"the transformer makes {width} numbers of a row: {error}") from error
    return behind(encoding, model, signature.input_name)


def _require_same_numbers(encoding: TableEncoding, transformer: Any, frame: Any) -> None:
    rows = rows_of(transformer, frame)
    found, seen = rows @ encoding.matrix + encoding.offsets, transformer.transform(frame)
    expected = np.asarray(seen.toarray() if hasattr(seen, "toarray") else seen, dtype=np.float64)
    allowed = _ROUNDING * np.maximum(np.abs(expected), 1.0)
    if found.shape != expected.shape or (np.abs(found - expected) > allowed).any():
        raise ModelError(
            f"the {type(transformer).__name__} is not read as it computes the rows of the frame: "
            "nothing would be proven about it; please report it"
        )
