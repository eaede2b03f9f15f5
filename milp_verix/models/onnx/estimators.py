"""Estimators of scikit-learn and its like: those that can be read, and why others cannot.

Nothing is believed of a fitted object before it is compared with what was read from it.

They are compared at rows made from what it was fitted on, and at the rows that the user gives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, ModelError, UnsupportedOperatorError, first_line
from milp_verix.inputs.fitted import (
    AS_NETWORKS,
    TableEncoding,
    name_of,
    not_fitted,
    require_read,
    steps_of,
)
from milp_verix.inputs.pipeline import made_rows, rows_of
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
    if not (np.isfinite(encoding.matrix).all() and np.isfinite(encoding.offsets).all()):
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
        told = (
            f"{found[place]} for row {labels[place]}, scikit-learn {known[place]}; rows that "
            f"differ: {int((~same.all(axis=1)).sum())} of {len(labels)}"
        )
    else:
        told = f"{found.shape[1]} numbers for a row, scikit-learn {known.shape[1]}"
    raise ModelError(
        f"the network returns {told}. Nothing would be proven about the model in scikit-learn; "
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


def flat_pipeline(model: Any) -> Any:
    """Return a ``Pipeline`` of the steps of ``model``, those of pipelines inside of it included.

    An estimator alone is its only step. Raises ``UnsupportedOperatorError`` for an estimator that
    cannot be read, and ``InputError`` for one that is not fitted or has an argument that is not
    read.
    """
    from sklearn.pipeline import Pipeline

    steps = steps_of(model)
    _require_readable(steps[-1])
    return Pipeline([(f"step{place}", step) for place, step in enumerate(steps)])


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
