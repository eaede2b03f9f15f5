"""Estimators of scikit-learn and its like: those that can be read, and why others cannot."""

from collections.abc import Iterable
from typing import Any

from milp_verix.base.errors import InputError, UnsupportedOperatorError
from milp_verix.inputs.fitted import name_of, not_fitted, steps_of
from milp_verix.inputs.fitted_arguments import (
    LINEAR_CLASSIFIERS,
    LINEAR_REGRESSORS,
    NETWORKS,
    require_read,
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
_EXPORTED = (
    *("FunctionTransformer", "MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"),
    *("IncrementalPCA", "PCA", "TruncatedSVD"),
)
"""Transformers that skl2onnx writes as affine maps."""
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


def require_exportable(steps: Iterable[Any]) -> None:
    """Raise ``InputError`` unless skl2onnx writes each transformer in ``steps`` as a network."""
    for step in steps:
        if name_of(step) not in _EXPORTED:
            raise InputError(
                f"the pipeline has a {type(step).__name__}, which cannot be read in this place: "
                "apply it to the data before the pipeline, or leave it out"
            )
        require_read(step)


def _require_readable(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    refuse_trees(estimator)
    if name_of(estimator) not in LINEAR_CLASSIFIERS | LINEAR_REGRESSORS | NETWORKS:
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
