"""The shipped example files agree with each other, and the script still makes their like."""

import json
import math
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

import milp_verix
from tests.support.repository import EXAMPLES


def predict(model: Path, images: NDArray[np.float32]) -> NDArray[np.int64]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    (logits,) = session.run(["logits"], {"image": images.reshape(-1, 1, 8, 8)})
    return np.argmax(logits, axis=1)


def assert_consistent(folder: Path) -> None:
    with np.load(folder / "digits.npz") as data:
        images, labels = data["images"], data["labels"]
    assert images.shape == (20, 1, 8, 8)
    assert images.dtype == np.float32
    assert images.min() >= 0
    assert images.max() <= 1
    assert set(labels[:10]) == set(labels[10:]) == set(range(10))
    np.testing.assert_array_equal(predict(folder / "digits.onnx", images), labels)


def script(name: str) -> ModuleType:
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def train_digits() -> ModuleType:
    pytest.importorskip("sklearn", reason="scikit-learn holds the digits")
    return script("train_digits")


def test_shipped_network_is_right_on_the_shipped_images() -> None:
    assert_consistent(EXAMPLES)


def test_shipped_network_is_small() -> None:
    assert (EXAMPLES / "digits.onnx").stat().st_size < 50_000


def test_shipped_network_has_the_stated_accuracy(train_digits: ModuleType) -> None:
    split = train_digits.load_split()
    accuracy = np.mean(predict(EXAMPLES / "digits.onnx", split.test_images) == split.test_labels)
    assert accuracy == pytest.approx(0.973, abs=0.0005)
    assert "97.3 %" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_shipped_images_were_not_trained_on(train_digits: ModuleType) -> None:
    with np.load(EXAMPLES / "digits.npz") as data:
        shipped = {image.tobytes() for image in data["images"]}
    assert shipped <= {image.tobytes() for image in train_digits.load_split().test_images}


@pytest.mark.nightly
def test_script_makes_such_files_again(train_digits: ModuleType, tmp_path: Path) -> None:
    for folder in ("first", "second"):
        train_digits.main(["--out", str(tmp_path / folder)])
    assert_consistent(tmp_path / "first")
    split = train_digits.load_split()
    predicted = predict(tmp_path / "first" / "digits.onnx", split.test_images)
    assert np.mean(predicted == split.test_labels) >= 0.95
    for name in ("digits.onnx", "digits.npz"):
        first, second = ((tmp_path / f / name).read_bytes() for f in ("first", "second"))
        assert first == second


@pytest.mark.slow
def test_script_makes_such_a_loan_again(tmp_path: Path) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    for folder in ("first", "second"):
        script("train_loan").main(["--out", str(tmp_path / folder)])
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    for name in ("loan.json", "applicant.json"):
        assert contents(tmp_path / "first")[name] == (EXAMPLES / name).read_bytes()
    told = {
        milp_verix.minimum(
            folder / "loan.onnx",
            json.loads((folder / "applicant.json").read_text(encoding="utf-8")),
            epsilon=math.inf,
            inputs=milp_verix.Inputs.from_file(folder / "loan.json"),
        ).explanation
        for folder in (EXAMPLES, tmp_path / "first")
    }
    assert told == {(2, 4)}  # income and arrears


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
