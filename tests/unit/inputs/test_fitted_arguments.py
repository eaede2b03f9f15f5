"""Each constructor argument of a class that is read has its place."""

from typing import Any

import numpy as np
import pytest

from milp_verix import InputError
from milp_verix.inputs import fitted as fitted_arguments
from milp_verix.inputs.fitted import ARGUMENTS, Arguments, require_read

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.linear_model import TweedieRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils import all_estimators

CLASSES = {name: cls for name, cls in all_estimators() if name in ARGUMENTS}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_each_argument_has_one_place(name: str) -> None:
    known = ARGUMENTS[name]
    listed = [*known.unused, *known.read, *known.refused]
    assert len(listed) == len({*listed})
    taken = {*CLASSES[name]._get_param_names()}
    assert taken - {*listed} == set()
    assert known.read | known.refused <= taken | {"clip", "loss", "transform_input"}  # later ones


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (MinMaxScaler(clip=True), "MinMaxScaler has clip=True.*fit it with clip=False"),
        (
            MLPRegressor(loss="poisson"),
            "MLPRegressor has loss='poisson'.*fit it with loss='squared_error'$",
        ),
        (TweedieRegressor(power=1), "TweedieRegressor has power=1,"),
        (
            FunctionTransformer(np.log1p),
            "FunctionTransformer has func=log1p,.*before the pipeline$",
        ),
    ],
)
def test_other_values_than_the_default_are_refused(step: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        require_read(step)
    require_read(TweedieRegressor(power=0, alpha=3))


def test_an_argument_without_a_place_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    read = frozenset(("with_mean", "with_std"))
    known = {**ARGUMENTS, "StandardScaler": Arguments(frozenset(), read, frozenset())}
    monkeypatch.setattr(fitted_arguments, "ARGUMENTS", known)
    require_read(StandardScaler())
    with pytest.raises(InputError, match="StandardScaler has copy=False"):
        require_read(StandardScaler(copy=False))
