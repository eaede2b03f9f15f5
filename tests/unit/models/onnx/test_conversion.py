"""Models of other libraries load from memory and compute what they compute there."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, ModelError, explain, load_network

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)
needs_keras = pytest.mark.skipif(
    importlib.util.find_spec("keras") is None, reason="Keras is not installed"
)


def points(count: int, *shape: int) -> Any:
    return np.random.default_rng(0).random((count, *shape)).astype(np.float32)


def convolution() -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout()]
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(27, 4))
    module[1].running_mean += 0.3  # evaluation differs from training
    return module.eval()


def fitted(*steps: Any) -> Any:
    x = points(200, 5)
    return make_pipeline(*steps).fit(x, np.digitize(x @ np.arange(5), [3, 6]))


@pytest.mark.slow
@needs_torch
def test_a_pytorch_module_loads_as_it_evaluates() -> None:
    import torch

    module = convolution().train()
    module[0].eval()
    xs = points(20, 1, 1, 8, 8)
    with pytest.warns(UserWarning, match="the module is in training mode"):
        network = load_network(module, example=xs[0])
    assert [part.training for part in module[:2]] == [False, True]
    module.eval()
    with torch.no_grad():
        expected = np.stack([module(torch.from_numpy(x)).numpy().reshape(-1) for x in xs])
    np.testing.assert_allclose(network.evaluate_many(xs), expected, atol=1e-5)
    assert network.ir.relu_count == 108


@pytest.mark.slow
@needs_torch
def test_a_pytorch_module_is_explained_at_its_input() -> None:
    import torch

    x = torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    found = explain(convolution(), x, epsilon=0.02, time_limit=60)
    assert found.replay(load_network(convolution(), example=x)) == ()


@pytest.mark.slow
@needs_torch
def test_equal_modules_have_equal_fingerprints_in_every_process(tmp_path: Path) -> None:
    import torch

    torch.save(convolution().state_dict(), tmp_path / "weights.pt")
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, milp_verix\nfrom torch import nn\n\n\n"
        "layers = [nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)]\n"
        "net = nn.Sequential(*layers, nn.Dropout(), nn.Flatten(), nn.Linear(27, 4))\n"
        f"net.load_state_dict(torch.load({str(tmp_path / 'weights.pt')!r}))\n"
        "print(milp_verix.load_network(net, example=torch.zeros(1, 1, 8, 8)).sha256)\n"
    )
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    here = load_network(convolution(), example=np.zeros((1, 1, 8, 8), np.float32))
    assert said.stdout == f"{here.sha256}\n"


@needs_torch
@pytest.mark.parametrize(
    ("example", "said"),
    [(None, "does not know the shape of its input"), (np.zeros((1, 8, 9, 3)), "cannot export")],
)
def test_a_pytorch_module_needs_an_example_that_fits(example: Any, said: str) -> None:
    with pytest.raises((InputError, ModelError), match=said):
        load_network(convolution(), example=example)


@needs_torch
def test_a_module_that_has_no_graph_is_refused_with_the_cause() -> None:
    import torch

    class Branching(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(ModelError, match="data-dependent") as refusal:
        load_network(Branching(), example=np.zeros((1, 4)))
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_a_classifier_of_scikit_learn_loads(scaled: bool) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    mlp = MLPClassifier(hidden_layer_sizes=(6,), max_iter=50, random_state=0)
    model = fitted(StandardScaler(), mlp) if scaled else fitted(mlp)
    network, xs = load_network(model), points(50, 5)
    scores = network.evaluate_many(xs)
    np.testing.assert_array_equal(model.predict(xs), scores.argmax(axis=1))
    assert load_network(model).sha256 == network.sha256
    assert explain(model, xs[0], epsilon=0.1).minimal


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_a_regressor_of_scikit_learn_loads() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    x = points(100, 3)
    model = MLPRegressor(hidden_layer_sizes=(4,), max_iter=50, random_state=0).fit(x, x.sum(axis=1))
    np.testing.assert_allclose(
        load_network(model).evaluate_many(x).reshape(-1), model.predict(x), atol=1e-5
    )


@pytest.mark.slow
@needs_keras
def test_a_keras_model_loads(tmp_path: Path) -> None:
    script = tmp_path / "script.py"  # Keras takes its backend from the environment
    script.write_text(
        "import os\nos.environ['KERAS_BACKEND'] = 'torch'\n"
        "import keras, numpy as np, milp_verix\nfrom keras import layers\n"
        "keras.utils.set_random_seed(0)\n"
        "model = keras.Sequential([layers.Input((8, 8, 1)),\n"
        "    layers.Conv2D(3, 3, activation='relu'), layers.MaxPooling2D(),\n"
        "    layers.Flatten(), layers.Dense(4)])\n"
        "x = np.random.default_rng(0).random((1, 8, 8, 1)).astype(np.float32)\n"
        "network = milp_verix.load_network(model)\n"
        "expected = keras.ops.convert_to_numpy(model(x)).reshape(-1)\n"
        "np.testing.assert_allclose(network.evaluate(x), expected, atol=1e-5)\n"
    )
    subprocess.run([sys.executable, script], check=True)


def test_an_estimator_that_is_not_fitted_is_refused() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    with pytest.raises(InputError, match="MLPClassifier is not fitted: call fit first"):
        load_network(MLPClassifier())


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_an_estimator_without_its_exporter_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    model = fitted(MLPClassifier((2,), max_iter=2))
    with pytest.raises(InputError, match=r"needs skl2onnx .*: pip install 'milp-verix\[sklearn\]'"):
        load_network(model)


@pytest.mark.parametrize("source", [3.5, None, MLPClassifier, ["model.onnx"]])
def test_other_objects_are_refused_with_the_way_out(source: Any) -> None:
    with pytest.raises(InputError, match=r"expected the path of an ONNX file.*export any other"):
        load_network(source)
