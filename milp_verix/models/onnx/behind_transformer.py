"""A network of any library behind a fitted transformer of scikit-learn, as one ONNX model."""

from typing import Any

import numpy as np
import onnx

from milp_verix.base.errors import InputError, refusing
from milp_verix.inputs.fitted import Missing
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.models.onnx.exporters import as_onnx
from milp_verix.models.onnx.graph import read_signature
from milp_verix.models.onnx.model_file import embed, path_of, read_model
from milp_verix.models.onnx.table_model import behind, require_equal

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
    found = as_onnx(source, np.zeros((1, width), np.float32))
    path = path_of(found)
    model, _ = read_model(found)
    embed(model, None if path is None else path.parent)
    with refusing(f"the transformer makes {width} numbers of a row", InputError):
        signature = read_signature(model.graph, input_shape=(1, width), output=output)
    return behind(encoding, model, signature.input_name)


def _dense(codes: Any) -> Any:
    return codes.toarray() if hasattr(codes, "toarray") else codes
