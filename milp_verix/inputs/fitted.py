"""Objects of scikit-learn, known by the names of their classes: it is not imported.

A class may compute otherwise where an argument is given otherwise. So each constructor argument of
each class has its place here, by its effect; one without a place, of a later scikit-learn, counts
as refused. The map from a table to numbers behind fitted transformers is data here:
:mod:`milp_verix.inputs.table_encoding` reads it, and has its mathematics.
"""

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from verix_encodings.arrays import FloatArray


def name_of(step: Any) -> str:
    """Return the class of an object of scikit-learn; "" for a subclass, which may do otherwise."""
    return type(step).__name__ if type(step).__module__.startswith("sklearn.") else ""


def bases_of(model: Any) -> set[tuple[str, str]]:
    """Return the library and the name of each class that ``model`` is an object of."""
    return {(base.__module__.split(".")[0], base.__name__) for base in type(model).__mro__}


def is_pipeline(model: Any) -> bool:
    """Return True for a ``Pipeline`` of scikit-learn that ends in an estimator."""
    return name_of(model) == "Pipeline" and hasattr(model.steps[-1][1], "predict")


def is_skipped(step: Any) -> bool:
    """Return True for a step that passes everything through."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline that do something, those of pipelines inside of it included.

    Its last step is among them in any case; another object is its only step. Raises ``InputError``
    for an argument of a pipeline that is not read.
    """
    *before, last = _flat(model)
    return [*(step for step in before if not is_skipped(step)), last]


def _flat(model: Any) -> list[Any]:
    if name_of(model) != "Pipeline":
        return [model]
    require_read(model)
    return [part for _, step in model.steps for part in _flat(step)]


def width_of(model: Any) -> int:
    """Return the number of columns that ``model`` was fitted on; ``InputError`` if on none."""
    width = getattr(steps_of(model)[0], "n_features_in_", None)
    if width is None:
        raise not_fitted(model)
    return int(width)


def names_of(model: Any) -> list[str] | None:
    """Return the names of the columns that ``model`` was fitted on, None for those of arrays."""
    names = getattr(steps_of(model)[0], "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def not_fitted(model: Any) -> InputError:
    """Return the error for an object that saw no data yet."""
    return InputError(f"the {type(model).__name__} is not fitted: call fit first")


def without_search(model: Any) -> tuple[Any, tuple[str, ...]]:
    """Return ``model`` with the estimator that each fitted search has chosen, and notes on these.

    A search is a ``GridSearchCV`` or one of its like, alone or at the end of pipelines. Raises
    ``InputError`` for one that has chosen no estimator.
    """
    if "BaseSearchCV" in {base.__name__ for base in type(model).__mro__ if name_of(model)}:
        if not hasattr(model, "best_estimator_"):
            if not hasattr(model, "cv_results_"):
                raise not_fitted(model)
            raise InputError(
                f"the {type(model).__name__} has no best_estimator_: fit it with refit=True"
            )
        chosen, notes = without_search(model.best_estimator_)
        return chosen, (f"the best_estimator_ of the {type(model).__name__} was read", *notes)
    if name_of(model) == "Pipeline" and model.steps:
        *before, (name, last) = model.steps
        chosen, notes = without_search(last)
        if notes:
            arguments = {**model.get_params(deep=False), "steps": [*before, (name, chosen)]}
            return type(model)(**arguments), notes
    return model, ()


@dataclass(frozen=True, slots=True)
class Arguments:
    """The constructor arguments of one class.

    Those ``unused`` have no effect on what the fitted object computes for complete rows of known
    words; those ``read`` are translated; those ``refused`` must have their default values.
    """

    unused: frozenset[str]
    read: frozenset[str]
    refused: frozenset[str]


def _given(unused: str = "", read: str = "", refused: str = "") -> Arguments:
    return Arguments(_names(unused), _names(read), _names(refused))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FIT_OF_LINEAR = """
    C Cs alpha alpha_1 alpha_2 alpha_init alpha_per_target alphas average class_weight compute_score
    copy copy_X covariance_estimator criterion cv dual early_stopping eps epsilon eta0 fit_intercept
    fit_path gcv_mode intercept_scaling jitter l1_ratio l1_ratios lambda_1 lambda_2 lambda_init
    learning_rate loss max_iter max_n_alphas max_subpopulation method multi_class n_alphas
    n_components n_iter_no_change n_jobs n_nonzero_coefs n_subsamples noise_variance normalize
    penalty positive power_t precompute priors quantile random_state refit scoring selection
    shrinkage shuffle solver solver_options store_covariance store_cv_results store_cv_values
    threshold_lambda tol use_legacy_attributes validation_fraction verbose warm_start
"""
_FIT_OF_PERCEPTRON = """
    alpha batch_size beta_1 beta_2 early_stopping epsilon hidden_layer_sizes learning_rate
    learning_rate_init max_fun max_iter momentum n_iter_no_change nesterovs_momentum power_t
    random_state shuffle solver tol validation_fraction verbose warm_start
"""

LINEAR_CLASSIFIERS = _names(
    """LinearDiscriminantAnalysis LinearSVC LogisticRegression LogisticRegressionCV
    PassiveAggressiveClassifier Perceptron RidgeClassifier RidgeClassifierCV SGDClassifier"""
)
"""Classifiers whose class has the greatest ``x Cᵀ + d``, with ``coef_`` and ``intercept_``."""

LINEAR_REGRESSORS = _names(
    """ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV
    LassoLars LassoLarsCV LassoLarsIC LinearRegression LinearSVR MultiTaskElasticNet
    MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV OrthogonalMatchingPursuit
    OrthogonalMatchingPursuitCV PassiveAggressiveRegressor QuantileRegressor Ridge RidgeCV
    SGDRegressor TheilSenRegressor TweedieRegressor"""
)
"""Regressors whose values are ``x Cᵀ + d``."""

NETWORKS = frozenset(("MLPClassifier", "MLPRegressor", "PLSRegression"))
"""Other estimators, which skl2onnx writes as networks."""
AS_NETWORKS = LINEAR_CLASSIFIERS | LINEAR_REGRESSORS | NETWORKS

ARGUMENTS = {
    "Pipeline": _given("memory verbose", "steps", "transform_input"),
    "ColumnTransformer": _given(
        "force_int_remainder_cols n_jobs sparse_threshold verbose verbose_feature_names_out",
        "remainder transformer_weights transformers",
    ),
    "FeatureUnion": _given(
        "n_jobs verbose verbose_feature_names_out", "transformer_list transformer_weights"
    ),
    "StandardScaler": _given("copy", "with_mean with_std"),
    "RobustScaler": _given("copy quantile_range unit_variance", "with_centering with_scaling"),
    "MaxAbsScaler": _given("copy", refused="clip"),
    "MinMaxScaler": _given("copy feature_range", refused="clip"),
    "OneHotEncoder": _given(
        "feature_name_combiner handle_unknown sparse_output",
        "categories drop dtype max_categories min_frequency",
    ),
    "OrdinalEncoder": _given(
        "handle_unknown unknown_value",
        "categories dtype encoded_missing_value max_categories min_frequency",
    ),
    "TargetEncoder": _given("cv random_state shuffle", "categories smooth target_type"),
    "SimpleImputer": _given(
        "copy fill_value keep_empty_features strategy", "add_indicator missing_values"
    ),
    "MissingIndicator": _given("error_on_new sparse", "features missing_values"),
    "FunctionTransformer": _given(
        "accept_sparse check_inverse feature_names_out inv_kw_args inverse_func kw_args validate",
        refused="func",
    ),
    "SelectKBest": _given(read="k score_func"),
    "SelectPercentile": _given(read="percentile score_func"),
    "VarianceThreshold": _given(read="threshold"),
    "PCA": _given(
        "copy iterated_power n_oversamples power_iteration_normalizer random_state svd_solver tol",
        "n_components whiten",
    ),
    "IncrementalPCA": _given("batch_size copy", "n_components whiten"),
    "TruncatedSVD": _given(
        "algorithm n_iter n_oversamples power_iteration_normalizer random_state tol", "n_components"
    ),
    "PLSRegression": _given("copy max_iter tol", "n_components scale"),
    "MLPClassifier": _given(_FIT_OF_PERCEPTRON, "activation"),
    "MLPRegressor": _given(_FIT_OF_PERCEPTRON, "activation", "loss"),
    **dict.fromkeys(LINEAR_CLASSIFIERS | LINEAR_REGRESSORS, _given(_FIT_OF_LINEAR)),
    "TweedieRegressor": _given(_FIT_OF_LINEAR, refused="link power"),
}
"""The arguments of each class that is read, by the name of the class."""


_PLAIN = (bool, int, float, str)


def require_read(step: Any) -> None:
    """Raise ``InputError`` for an argument that changes what ``step`` computes and is not read."""
    name = type(step).__name__
    known, parameters = ARGUMENTS[name], inspect.signature(type(step)).parameters
    for argument, value in step.get_params(deep=False).items():
        if argument in known.unused or argument in known.read:
            continue
        default = parameters[argument].default
        plain = isinstance(value, _PLAIN) and isinstance(default, _PLAIN)
        if value is not default and not (plain and value == default):
            before = ", or apply it to the data before the pipeline"
            kind = getattr(value, "__name__", repr(value))  # of a function
            raise InputError(
                f"the {name} has {argument}={kind}, whose effect is not read: nothing would be "
                f"proven about it; fit it with {argument}={default!r}"
                f"{before * hasattr(step, 'transform')}"
            )


Missing: TypeAlias = Collection[str | tuple[int, float, float]]
"""Names of columns of words that may be missing; of numbers that may be, the coordinate, the last
number and the code of a missing one."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and its coordinates.

    ``form`` is ``"number"``, or one of three for the ``values`` that an encoder knows: ``"binary"``
    for 0 and 1, ``"codes"`` for 0, 1, 2, …, ``"block"`` for a one-hot block. ``ordered`` is True if
    the user gave the encoder their order.
    """

    name: str
    form: str = "number"
    values: tuple[Any, ...] = ()
    ordered: bool = False

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return len(self.values) if self.form == "block" else 1

    @property
    def listed(self) -> NDArray[Any]:
        """The values as an array; one of texts would cut or convert some of them."""
        numbers = all(isinstance(value, int | float) for value in self.values)
        return np.array(self.values, dtype=None if numbers else object)


@dataclass(frozen=True, slots=True, eq=False)
class TableEncoding:
    """The map ``z = x P + q`` of a transformer, or of the steps of a pipeline.

    ``columns`` are those that ``z`` depends on, in the table's order; ``matrix`` is ``P``, shape
    (coordinates, size of z), sparse, ``offsets`` is ``q``. ``typical`` has the numbers that
    imputers fill in, by the names of columns. ``jumps`` is ``J``, of the shape of ``P``: NaN where
    a missing number stays one. ``ends`` are the numbers that may be missing.
    """

    columns: tuple[Column, ...]
    matrix: sp.csr_array
    offsets: FloatArray
    typical: Mapping[str, Sequence[float]]
    jumps: sp.csr_array = field(default_factory=lambda: sp.csr_array((0, 0)))
    ends: tuple[tuple[int, float, float], ...] = ()

    @property
    def starts(self) -> list[int]:
        """The first coordinate of each column."""
        return [*accumulate((column.width for column in self.columns), initial=0)][:-1]

    @property
    def joined(self) -> list[str]:
        """Columns that one number of ``z`` depends on together; none if each depends on one."""
        owners = np.repeat([one.name for one in self.columns], [one.width for one in self.columns])
        read = sp.csc_array((self.matrix != 0) + (self.jumps != 0))
        for places in np.split(read.indices, read.indptr[1:-1]):
            names = dict.fromkeys(owners[places].tolist())
            if len(names) > 1:
                return [*names]
        return []

    @property
    def bends(self) -> tuple[sp.csc_array, FloatArray, sp.csr_array]:
        """``S, l, R`` of ``z = x P + q + max(x S - l, 0) R``, a column of ``S`` for each end.

        Numbers are divided by a power of two near the gap, which rounds none of them.
        """
        places, last, code = np.array(self.ends).reshape(-1, 3).T
        at, scale = places.astype(np.intp), 2.0 ** -np.ceil(np.log2(code - last))
        rows = sp.csr_array(self.matrix[at].multiply(-code[:, None])) + self.jumps[at]
        rows.data /= np.repeat(scale * (code - last), np.diff(rows.indptr))
        one_each = (scale, at, np.arange(len(at) + 1))
        return sp.csc_array(one_each, (self.matrix.shape[0], len(at))), last * scale, rows

    def encoded(self, rows: FloatArray) -> FloatArray:
        """Return ``z`` of ``rows``, shape (n, coordinates)."""
        chosen, last, bent = self.bends
        bends: FloatArray = np.maximum(rows @ chosen - last, 0.0) @ bent
        return np.asarray(rows @ self.matrix + self.offsets + bends)
