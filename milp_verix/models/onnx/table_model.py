"""A fitted estimator or pipeline of scikit-learn as a network of a row of its table.

The leading steps are one ``Gemm`` in front of the network of the others: ``z = x P + q`` of
:mod:`milp_verix.inputs.table_encoding`. All numbers are float64, as scikit-learn computes: a whole
number is whole at the network's input, and scores differ from the pipeline's by rounding alone. A
linear model is ``z Cᵀ + d``, for a classifier its decision function with one score for two classes;
skl2onnx writes the other networks.

It is compared with the pipeline before it is believed, at rows made from what that was fitted on,
and at the rows that the user gives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import scipy.sparse as sp
from onnx import helper, numpy_helper

from milp_verix.base.errors import InputError, ModelError, UnsupportedOperatorError, first_line
from milp_verix.inputs.fitted import (
    AS_NETWORKS,
    LINEAR_CLASSIFIERS,
    LINEAR_REGRESSORS,
    Missing,
    TableEncoding,
    name_of,
    not_fitted,
    require_read,
    steps_of,
    without_search,
)
from milp_verix.inputs.pipeline import fitted_class_names, made_rows, rows_of
from milp_verix.inputs.table_encoding import encoding_of
from milp_verix.models.loaded_model import KnownFacts
from milp_verix.models.onnx.model_file import cut, opened, scores_of, serialised, write_facts
from verix_encodings.arrays import FloatArray


def require_equal(
    encoding: TableEncoding,
    fitted: Any,
    frame: Any,
    *,
    found: Callable[[FloatArray], FloatArray],
    expected: Callable[[Any], Any],
    rounding: float,
) -> None:
    """Raise ``ModelError`` unless ``found`` of inputs is ``expected`` of their rows of the table.

    The rows are made from what ``fitted`` was fitted on, and those of a DataFrame ``frame``.
    ``rounding`` is relative to the largest of each output. Raises ``InputError`` for a row of
    ``frame`` that is not in the table, and where no rows can be made and none are given.
    """
    if not (np.isfinite(encoding.matrix.data).all() and np.isfinite(encoding.offsets).all()):
        raise InputError(
            "the pipeline encodes a missing word as NaN, which its network does not take: fit its "
            "OrdinalEncoder with encoded_missing_value=-1 on a table that has some"
        )
    # rows with missing values wait for a description
    frame = frame.dropna() if hasattr(frame, "columns") else ()
    given = len(frame) > 0
    inputs, known, labels = list[FloatArray](), list[FloatArray](), list[Any]()
    try:
        table, made = made_rows(fitted, encoding)
        known.append(_rows(expected(table), len(made)))
        inputs.append(made)
        labels += [f"{place} made from what it was fitted on" for place in range(len(made))]
    except ModelError:
        raise
    except Exception as error:  # transformers and estimators have their own exceptions
        if not given:
            raise InputError(
                f"no rows can be made at which the {type(fitted).__name__} is compared with its "
                f"network ({first_line(error)}): give rows of its table as example=frame"
            ) from error
    if given:
        inputs.append(rows_of(fitted, frame))
        known.append(_rows(expected(frame), len(frame)))
        labels += [*frame.index]
    computed = _rows(found(np.concatenate(inputs)), len(labels))
    _require_same(computed, np.concatenate(known), labels, rounding)


def _rows(numbers: Any, count: int) -> FloatArray:
    array: FloatArray = np.asarray(numbers, dtype=np.float64).reshape(count, -1)
    return array


def _require_same(found: FloatArray, known: FloatArray, labels: list[Any], rounding: float) -> None:
    if found.shape == known.shape:
        same = np.abs(found - known) <= rounding * np.abs(known).max(axis=0)
        if same.all():
            return
        place = int(np.flatnonzero(~same.all(axis=1))[0])
        text = (
            f"{found[place]} for row {labels[place]}, scikit-learn {known[place]}; rows that "
            f"differ: {int((~same.all(axis=1)).sum())} of {len(labels)}"
        )
    else:
        text = f"{found.shape[1]} numbers for a row, scikit-learn {known.shape[1]}"
    raise ModelError(
        f"the network returns {text}. Nothing would be proven about the model in scikit-learn; "
        "please report it"
    )


_TREES = ("catboost",)
_OTHER_TREES = "is made of trees of another library, which cannot be read yet"
_REASONS = (
    (("sklearn.svm", "sklearn.gaussian_process", "sklearn.kernel_ridge"), "has a kernel, which "
     "cannot be read yet"),
    (("sklearn.neighbors",), "compares with stored rows, which cannot be read yet"),
    (("sklearn.ensemble", "sklearn.calibration", "sklearn.multi"), "combines several estimators, "
     "which cannot be read yet"),
    (("sklearn.",), "cannot be read yet"),
)  # fmt: skip
"""Reasons for the classes of each module; the first that fits is told."""
_SUPPORTED = (
    "MLPClassifier, MLPRegressor, linear models such as LogisticRegression, LinearSVC and Ridge, "
    "and trees, forests and boosted trees of scikit-learn, XGBoost and LightGBM"
)


def refuse_trees(model: Any) -> None:
    """Raise ``UnsupportedOperatorError`` for a model of a library of trees that is not read."""
    if type(model).__module__.split(".")[0] in _TREES:
        raise _unsupported(model, _OTHER_TREES)


def _require_readable(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    refuse_trees(estimator)
    if name_of(estimator) not in AS_NETWORKS:
        if not hasattr(estimator, "predict"):
            raise InputError(
                f"the {type(estimator).__name__} predicts nothing: give the model behind it, and "
                "the transformer as load_network(model, transformer=...)"
            )
        raise _unsupported(estimator, _reason(estimator))
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise not_fitted(estimator) from error
    require_read(estimator)


def _reason(estimator: Any) -> str:
    if not name_of(estimator):
        return "is no class of scikit-learn itself, so its predictions cannot be read"
    module = type(estimator).__module__
    return next(reason for roots, reason in _REASONS if module.startswith(roots))


def _unsupported(estimator: Any, reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        f"the {type(estimator).__name__} {reason}; estimators may be {_SUPPORTED}"
    )


_INPUT, _ENCODED = "table_row", "table_encoded"
_MATRIX, _OFFSETS = "table_encoding", "table_offsets"
_OPSET, _IR_VERSION = 17, 8
_FIRST_IR_VERSION = 4
"""From this one on, a stored tensor need not be an input."""
_DENSE, _SPARSE = 2**16, 8
"""The most entries of a matrix that is always stored whole; how many times as many rows as entries
of a column one of picked entries has."""
_ROUNDING = 1e-5
"""Rounding of scores, relative to the largest: a pipeline may compute in float32."""


def table_model(source: Any, frame: Any = None, missing: Missing = ()) -> onnx.ModelProto:
    """Return the network of a fitted estimator, of a pipeline, or of what a search has chosen.

    Its scores are compared with those of the pipeline, and with a DataFrame ``frame`` for its rows,
    too; words and numbers may be ``missing`` as in :func:`.encoding_of`. Raises ``InputError`` for
    a transformer or an argument that is not known, and where no rows can be made and none are
    given; ``ModelError`` where scores differ; ``UnsupportedOperatorError`` for an estimator such as
    a forest.
    """
    from sklearn.pipeline import Pipeline

    chosen, notes = without_search(source)
    steps = steps_of(chosen)
    estimator = steps[-1]
    _require_readable(estimator)
    pipeline = Pipeline([(f"step{place}", step) for place, step in enumerate(steps)])
    encoding = encoding_of(pipeline, missing=missing)
    width = encoding.matrix.shape[1]
    classifier = hasattr(estimator, "classes_")
    if classifier and np.ndim(estimator.predict(np.zeros((1, width)))) > 1:
        raise InputError("the pipeline gives a row several labels at once: fit one for each label")
    if classifier and len(estimator.classes_) < 2:
        raise InputError("the classifier has seen one class alone, which it always predicts")
    model = _model_of(estimator, width)
    if len(pipeline) > 1:
        model = behind(encoding, model, "encoded")
    require_equal(
        encoding,
        pipeline,
        frame,
        found=lambda rows: _run(model, rows),
        expected=lambda table: _scores(pipeline, table),
        rounding=_ROUNDING,
    )
    regressor = None if classifier else type(estimator).__name__
    write_facts(model, KnownFacts(regressor, tuple(fitted_class_names(estimator)), notes))
    return model


def behind(encoding: TableEncoding, model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """Put ``encoding`` in front of the input ``name`` of ``model``, and return ``model``."""
    graph = model.graph
    (given,) = (value for value in graph.input if value.name == name)
    kind = given.type.tensor_type.elem_type
    nodes, encoded = _times(graph, encoding.matrix, [_INPUT, _MATRIX, _OFFSETS], _ENCODED), _ENCODED
    _store(graph, encoding.offsets, _OFFSETS)
    if encoding.ends:
        chosen, last, bent = encoding.bends
        encoded = "table_filled"
        nodes += _times(graph, chosen, [_INPUT, "table_chosen", "table_last"], "table_beyond")
        _store(graph, -last, "table_last")
        nodes += [
            helper.make_node("Relu", ["table_beyond"], ["table_missing"]),
            *_times(graph, bent, ["table_missing", "table_bent"], "table_jumps"),
            helper.make_node("Add", [_ENCODED, "table_jumps"], [encoded]),
        ]
    for node in (helper.make_node("Cast", [encoded], [name], to=kind), *nodes[::-1]):
        graph.node.insert(0, node)
    graph.input.remove(given)
    size = encoding.matrix.shape[0]
    graph.input.append(_value(_INPUT, size))
    model.ir_version = max(model.ir_version, _FIRST_IR_VERSION)
    return model


def _times(graph: Any, matrix: Any, inputs: list[str], made: str) -> list[onnx.NodeProto]:
    """Return nodes of a row times ``matrix``, plus offsets; few entries are picked singly."""
    row, stored, *offsets = inputs
    (height, width), columns = matrix.shape, sp.csc_array(matrix)
    columns.eliminate_zeros()
    counts = np.diff(columns.indptr)
    most = int(counts.max(initial=0))
    if height * width <= _DENSE or _SPARSE * most > height:
        _store(graph, columns.toarray(), stored)
        return [helper.make_node("Gemm" if offsets else "MatMul", inputs, [made])]
    nodes, total = list[onnx.NodeProto](), offsets[0] if offsets else ""
    for place in range(most):
        has, term = place < counts, f"{made}_{place}"
        at, factors = np.zeros(width, np.int64), np.zeros(width)
        entries = columns.indptr[:-1][has] + place
        at[has], factors[has] = columns.indices[entries], columns.data[entries]
        names = [_store(graph, at, f"{term}_at"), _store(graph, factors, f"{term}_factors")]
        nodes.append(helper.make_node("Gather", [row, names[0]], [f"{term}_picked"], axis=1))
        nodes.append(helper.make_node("Mul", [f"{term}_picked", names[1]], [term]))
        if total:
            nodes.append(helper.make_node("Add", [total, term], [f"{term}_sum"]))
        total = f"{term}_sum" if total else term
    nodes[-1].output[0] = made
    return nodes


def _store(graph: Any, array: Any, name: str) -> str:
    graph.initializer.append(numpy_helper.from_array(array, name))
    return name


def _model_of(estimator: Any, width: int) -> onnx.ModelProto:
    """Return the network of an estimator, with the input ``encoded``."""
    if name_of(estimator) in LINEAR_CLASSIFIERS | LINEAR_REGRESSORS:
        coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
        count = len(coefficients)
        constants = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), count)
        stored = {"coefficients": coefficients, "constants": constants}
        graph = helper.make_graph(
            [helper.make_node("Gemm", ["encoded", *stored], ["scores"], transB=1)],
            "linear model",
            [_value("encoded", width)],
            [_value("scores", count)],
            [numpy_helper.from_array(array, name) for name, array in stored.items()],
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
        )
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType

    model: onnx.ModelProto = to_onnx(
        estimator,
        initial_types=[("encoded", DoubleTensorType([None, width]))],
        options={"zipmap": False} if hasattr(estimator, "predict_proba") else None,
    )
    return model


def _value(name: str, size: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [None, size])


def _run(model: onnx.ModelProto, rows: FloatArray) -> FloatArray:
    name = scores_of(model.graph, None)[1]
    session = opened(serialised(cut(model, [name])))
    scores: FloatArray = session.run([name], {model.graph.input[0].name: rows})[0]
    return scores


def _scores(pipeline: Any, table: Any) -> FloatArray:
    """Return the scores, or the values, that scikit-learn has for each row of ``table``."""
    estimator = pipeline.steps[-1][1]
    table = pipeline[:-1].transform(table) if len(pipeline) > 1 else table  # wide ones take long
    if not hasattr(estimator, "classes_"):
        return np.asarray(estimator.predict(table), dtype=np.float64)
    linear = name_of(estimator) in LINEAR_CLASSIFIERS
    scores: FloatArray = (estimator.decision_function if linear else estimator.predict_proba)(table)
    each = scores if scores.ndim > 1 else np.stack([-scores, scores], axis=1)
    chosen = np.searchsorted(estimator.classes_, estimator.predict(table))
    short = each.max(axis=1) - each[np.arange(len(each)), chosen]
    if (short > _ROUNDING * np.abs(each).max()).any():
        raise ModelError(
            f"the {type(estimator).__name__} does not predict the class of the greatest score: "
            "nothing would be proven about its predictions; please report it"
        )
    return scores
