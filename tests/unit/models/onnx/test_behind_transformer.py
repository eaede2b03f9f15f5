"""Networks of other libraries behind a transformer of scikit-learn."""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

from milp_verix import InputError, Inputs, ModelError, explain, load_network
from milp_verix.models.onnx import exporters
from tests.support.random_networks import dense_model, random_layers

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    towns = ["Aachen", "Bonn", "Celle"]
    return pd.DataFrame({"age": rng.integers(18, 60, 50), "town": rng.choice(towns, 50)})


def fitted() -> ColumnTransformer:
    columns = [("numbers", MinMaxScaler(), ["age"]), ("words", OneHotEncoder(), ["town"])]
    return ColumnTransformer(columns).fit(table())


def model(width: int = 4) -> onnx.ModelProto:
    return dense_model(random_layers(np.random.default_rng(3), (width, 6, 2)))


def rows(inputs: Inputs) -> Any:
    return [inputs.row(row) for _, row in table().iterrows()]


@pytest.mark.parametrize("in_a_file", [False, True])
def test_it_scores_rows_as_the_network_scores_what_they_become(
    in_a_file: bool, tmp_path: Path
) -> None:
    source: Any = model()
    if in_a_file:
        onnx.save(source, tmp_path / "model.onnx")
        source = tmp_path / "model.onnx"
    columns = fitted()
    network = load_network(source, transformer=columns, example=table())
    inputs = Inputs.from_pipeline(columns, table())
    assert network.input_size == inputs.size == 4
    expected = load_network(source).evaluate_many(columns.transform(table()))
    np.testing.assert_array_equal(network.evaluate_many(rows(inputs)), expected)
    found = explain(network, table().iloc[0], epsilon=math.inf, inputs=inputs)
    assert found.minimal
    assert found.counterfactuals
    for counterfactual in found.counterfactuals.values():
        age, *town = counterfactual.input.reshape(-1)
        assert age == int(age)
        word = columns.named_transformers_["words"].categories_[0][int(np.argmax(town))]
        codes = columns.transform(pd.DataFrame({"age": [age], "town": [word]}))
        assert load_network(source).evaluate(codes[0]).argmax() != found.prediction


def test_a_network_of_another_width_is_refused() -> None:
    with pytest.raises(InputError, match=r"makes 4 numbers of a row: .* has shape \(1, 5\)"):
        load_network(model(5), transformer=fitted())


def test_a_transformer_that_is_misread_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = exporters.encoding_of(fitted())
    moved = replace(encoding, matrix=1.001 * encoding.matrix)
    monkeypatch.setattr(exporters, "encoding_of", lambda *_, **__: moved)
    for frame in (None, table()):
        with pytest.raises(ModelError, match=r"returns .* rows that differ: \d+ of (64|114)"):
            load_network(model(), transformer=fitted(), example=frame)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_pytorch_module_reads_a_table() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    columns = fitted()
    network = load_network(module, transformer=columns, example=table())
    with torch.no_grad():
        expected = module(torch.from_numpy(columns.transform(table()).astype(np.float32))).numpy()
    inputs = Inputs.from_pipeline(columns, table())
    np.testing.assert_allclose(network.evaluate_many(rows(inputs)), expected, atol=1e-6)
