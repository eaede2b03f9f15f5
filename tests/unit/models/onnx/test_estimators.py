"""Estimators that cannot be read are refused in plain words, wherever they are."""

from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, UnsupportedOperatorError, load_network

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

X = np.random.default_rng(0).random((60, 3))
SIDES = (X[:, 0] > 0.5).astype(int)


class Own(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of the user's own."""

    def fit(self, X: Any, y: Any) -> "Own":
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


class Doubled(LogisticRegression):  # type: ignore[misc]
    """A linear classifier that decides otherwise."""


REFUSED = [
    (AdaBoostClassifier(n_estimators=2), "combines several estimators, which cannot be read yet"),
    (SVC(), "has a kernel, which cannot be read yet"),
    (KNeighborsClassifier(), "compares with stored rows"),
    (VotingClassifier([("a", LogisticRegression())]), "combines several estimators"),
    (CalibratedClassifierCV(LogisticRegression(), cv=2), "combines several estimators"),
    (PoissonRegressor(), "cannot be read yet"),
    (TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1), "cannot be read"),
    (Own(), "is no class of scikit-learn itself"),
    (Doubled(), "is no class of scikit-learn itself"),
]


@pytest.mark.parametrize(("estimator", "reason"), REFUSED, ids=lambda part: type(part).__name__)
def test_the_same_words_alone_in_a_pipeline_and_in_a_search(estimator: Any, reason: str) -> None:
    name = type(estimator).__name__
    told = f"^the {name} {reason}.*; estimators may be MLPClassifier, .*Ridge, and trees"
    fitted, scaler = clone(estimator).fit(X, SIDES), StandardScaler().fit(X)
    searches = GridSearchCV(estimator, {}), RandomizedSearchCV(estimator, {})
    for search in searches:
        search.best_estimator_ = fitted
    behind = [make_pipeline(scaler, part) for part in (fitted, *searches)]
    for model in (fitted, *searches, *behind):
        with pytest.raises(UnsupportedOperatorError, match=told):
            load_network(model)


def test_boosted_trees_of_other_libraries_are_known_by_their_module() -> None:
    module = "catboost.core"
    booster = type("CatBoost", (), {"__module__": module})()
    estimator = type("Classifier", (BaseEstimator,), {"__module__": module, "predict": len})()
    for model in (booster, estimator, make_pipeline(StandardScaler(), estimator)):
        with pytest.raises(UnsupportedOperatorError, match="trees of another library"):
            load_network(model)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (LogisticRegression(), "the LogisticRegression is not fitted: call fit first"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "is not fitted: call fit first"),
        (GridSearchCV(Ridge(), {}), "the GridSearchCV is not fitted: call fit first"),
        (GridSearchCV(Ridge(), {}, refit=False).fit(X, SIDES), "fit it with refit=True"),
        (StandardScaler().fit(X), "the StandardScaler predicts nothing: .*transformer="),
        (make_pipeline(MinMaxScaler(), StandardScaler()).fit(X), "StandardScaler predicts nothing"),
        (
            make_pipeline(PCA(), Normalizer(), Ridge()).fit(X, SIDES),
            "has a Normalizer, which cannot be read: apply it",
        ),
    ],
)
def test_other_models_are_refused_with_the_way_out(model: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        load_network(model)
