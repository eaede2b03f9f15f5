"""A fitted scikit-learn pipeline as a network whose input is a row of its table, before scaling.

The leading steps are one ``Gemm`` in front of the network that skl2onnx makes of the others:
``z = x P + q`` of :mod:`milp_verix.inputs.table_encoding`. All numbers are float64, as scikit-learn
computes: a whole number is whole at the network's input, and scores differ from the pipeline's by
rounding alone. A linear classifier is its decision function, ``z Cᵀ + d``, one score for two
classes: skl2onnx writes probabilities that are no network of the scores.
"""

from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from milp_verix.errors import InputError, ModelError
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.table_encoding import TableEncoding, encoding_of
from milp_verix.onnx_reader.outputs import cut, scores_of
from milp_verix.onnx_reader.signature import read_signature
from milp_verix.onnx_reader.sources.model_file import serialised
from milp_verix.onnx_reader.trace import trace
from verix_encodings.arrays import FloatArray

_INPUT, _ENCODED = "table_row", "table_encoded"
_MATRIX, _OFFSETS = "table_encoding", "table_offsets"
_OPSET, _IR_VERSION = 17, 8
_FIRST_IR_VERSION = 4
"""From this one on, a stored tensor need not be an input."""
_ROUNDING = 1e-5
"""Rounding of scores, relative to the largest: a pipeline may compute in float32."""


def table_model(pipeline: Any, frame: Any = None) -> onnx.ModelProto:
    """Return the network of ``pipeline``.

    With a DataFrame ``frame`` the scores for its rows are compared. Raises ``InputError`` for a
    transformer that is not known; ``ModelError`` where scores differ;
    ``UnsupportedOperatorError`` for an estimator such as a forest.
    """
    encoding = encoding_of(pipeline)
    rest = pipeline[encoding.steps :]
    width = encoding.matrix.shape[1]
    estimator = rest.steps[-1][1]
    if hasattr(pipeline, "classes_") and np.ndim(rest.predict(np.zeros((1, width)))) > 1:
        raise InputError("the pipeline gives a row several labels at once: fit one for each label")
    alone = len(rest.steps) == 1
    linear = alone and _is_linear_classifier(estimator)
    model = _linear_model(estimator) if linear else _exported(rest, width)
    model = behind(encoding, model, "encoded")
    if hasattr(frame, "columns"):
        trace(model, read_signature(model.graph))  # trees are refused as such, not by their scores
        _require_same_scores(model, pipeline, frame)
    return model


def behind(encoding: TableEncoding, model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """Put ``encoding`` in front of the input ``name`` of ``model``, and return ``model``."""
    graph = model.graph
    (given,) = (value for value in graph.input if value.name == name)
    kind = given.type.tensor_type.elem_type
    graph.initializer.append(numpy_helper.from_array(encoding.matrix, _MATRIX))
    graph.initializer.append(numpy_helper.from_array(encoding.offsets, _OFFSETS))
    graph.node.insert(0, helper.make_node("Gemm", [_INPUT, _MATRIX, _OFFSETS], [_ENCODED]))
    graph.node.insert(1, helper.make_node("Cast", [_ENCODED], [name], to=kind))
    graph.input.remove(given)
    size = encoding.matrix.shape[0]
    row = helper.make_tensor_value_info(_INPUT, onnx.TensorProto.DOUBLE, [None, size])
    graph.input.append(row)
    model.ir_version = max(model.ir_version, _FIRST_IR_VERSION)
    return model


def rows_of(pipeline: Any, frame: Any) -> FloatArray:
    """Return the rows of a DataFrame as inputs of the network, shape (rows, size).

    ``InputError`` for a word that the fitted ``pipeline`` does not know.
    """
    inputs = Inputs.from_pipeline(pipeline, frame)
    return np.array([inputs.row(row) for row in frame.to_dict("records")])


def _exported(rest: Any, width: int) -> onnx.ModelProto:
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType

    model: onnx.ModelProto = to_onnx(
        rest,
        initial_types=[("encoded", DoubleTensorType([None, width]))],
        options={"zipmap": False} if hasattr(rest, "predict_proba") else None,
    )
    return model


def _is_linear_classifier(estimator: Any) -> bool:
    ours = type(estimator).__module__.startswith("sklearn.")
    return ours and "LinearClassifierMixin" in {b.__name__ for b in type(estimator).__mro__}


def _linear_model(estimator: Any) -> onnx.ModelProto:
    coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    classes, width = coefficients.shape
    constants = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), classes)
    value = partial(helper.make_tensor_value_info, elem_type=onnx.TensorProto.DOUBLE)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["encoded", "coefficients", "constants"], ["scores"], transB=1)],
        "linear classifier",
        [value("encoded", shape=[None, width])],
        [value("scores", shape=[None, classes])],
        [
            numpy_helper.from_array(coefficients, "coefficients"),
            numpy_helper.from_array(constants, "constants"),
        ],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
    )


def _require_same_scores(model: onnx.ModelProto, pipeline: Any, frame: Any) -> None:
    """Raise ``ModelError`` unless ``model`` has the scores that ``pipeline`` has, for each row.

    Raises ``InputError`` for a row that is not in the table.
    """
    rows = rows_of(pipeline, frame)
    name = scores_of(model.graph, None)[1]
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    session = onnxruntime.InferenceSession(serialised(cut(model, [name])), quiet)
    found = session.run([name], {_INPUT: rows})[0].reshape(len(rows), -1)
    expected = np.asarray(_scores(pipeline, frame), dtype=np.float64).reshape(found.shape)
    apart = np.abs(found - expected).max(axis=1) > _ROUNDING * np.abs(expected).max()
    if apart.any():
        place = int(np.flatnonzero(apart)[0])
        raise ModelError(
            f"the network made of the pipeline returns {found[place]} for row "
            f"{frame.index[place]}, the pipeline {expected[place]}; rows that differ: "
            f"{int(apart.sum())} of {len(rows)}. Nothing would be proven about the pipeline; "
            "please report it"
        )


def _scores(pipeline: Any, frame: Any) -> Any:
    if _is_linear_classifier(pipeline.steps[-1][1]):
        return pipeline.decision_function(frame)
    return (pipeline.predict_proba if hasattr(pipeline, "predict_proba") else pipeline.predict)(
        frame
    )
