"""Files of every kind that is read, and damage to them."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import milp_verix as mv
from milp_verix.inputs.input_files import read_input
from tests.fuzz.trials import LIMIT
from tests.support.repository import FIXTURES
from verix_checker import command

_EXAMPLES = Path(__file__).parents[2] / "examples"
_NUMBERS = (b"-1", b"0", b"1", b"99", b"2147483647", b"-2147483648", b"1e400", b"nan", b"", b"0.5")
_NUMBERS += (b"99999999999999999999", b"-7", b"1e-400", b"null", b"[]", b'"x"')


@dataclass(frozen=True)
class Kind:
    """A file's content, and what reads it: a path, whose suffix is ``suffix``."""

    content: bytes
    suffix: str
    read: Callable[[Path], object]


def _asked(path: Path) -> object:
    """Load a model, and ask about it."""
    network = mv.load_network(path)
    shape = network.input_shape
    if np.prod(shape, dtype=float) > 1000:
        return network
    x = np.zeros(shape)
    return mv.explain(network, x, epsilon=1, domain=(-4, 4), time_limit=LIMIT)


def _checked(model: Path, path: Path) -> object:
    """Check a certificate: whatever is wrong with it is a refusal."""
    assert command.main([str(model), str(path)]) in (0, 1, 2)
    return None


def kinds(folder: Path) -> list[Kind]:
    """Return files of models, descriptions, results, certificates and inputs."""
    found = [Kind(path.read_bytes(), path.suffix, _asked) for path in _model_files(folder)]
    digits, images = _EXAMPLES / "digits.onnx", np.load(_EXAMPLES / "digits.npz")["images"]
    explanation = mv.explain(digits, images[0], epsilon=0.05)
    explanation.to_json(folder / "result.json")
    explanation.certify(digits).to_json(folder / "proof.json")
    parts = [mv.integer("age", 18, 90), mv.category("town", ["a", "b"]), mv.continuous("x", 0, 1)]
    described = mv.Inputs(parts, rules=["age >= 20"]).to_data()
    (folder / "inputs.json").write_text(json.dumps(described))
    np.save(folder / "x.npy", images[0])
    readers: dict[str, Callable[[Path], object]] = {
        "result.json": mv.Explanation.from_json,
        "proof.json": partial(_checked, digits),
        "inputs.json": mv.Inputs.from_file,
        "x.npy": lambda path: read_input(str(path), (1, 64), None),
    }
    for name, read in readers.items():
        found.append(Kind((folder / name).read_bytes(), Path(name).suffix, read))
    return found


def _model_files(folder: Path) -> list[Path]:
    found = [_EXAMPLES / "digits.onnx"]
    found += [FIXTURES / f"{name}.onnx" for name in ("dynamo-dense", "sklearn-binary-zipmap")]
    rng = np.random.default_rng(0)
    X: Any = rng.integers(0, 5, (300, 3)).astype(float)
    y, several = X[:, 0] > X[:, 1], (X[:, 0] + X[:, 1] > 5).astype(int) + (X[:, 2] > 2)
    try:
        import xgboost
    except ImportError:
        pass
    else:
        options: dict[str, Any] = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
        for name, labels, more in (
            ("two", y, {}),
            ("three", several, {}),
            ("dart", y, {"booster": "dart", "rate_drop": 0.5}),
        ):
            model = xgboost.XGBClassifier(**options, **more).fit(X, labels)
            for suffix in ("json", "ubj"):
                found.append(folder / f"{name}.{suffix}")
                model.save_model(found[-1])
        words = np.array([["a", "b", "c", "d", "e"][int(one)] for one in X[:, 0]], dtype=object)
        import pandas as pd

        frame = pd.DataFrame({"x": X[:, 1], "w": pd.Categorical(words)})
        model = xgboost.XGBClassifier(**options, enable_categorical=True, max_cat_to_onehot=1)
        for suffix in ("json", "ubj"):
            found.append(folder / f"words.{suffix}")
            model.fit(frame, y).save_model(found[-1])
    try:
        import lightgbm
    except (ImportError, OSError):
        return found
    options = {"n_estimators": 3, "num_leaves": 5, "verbose": -1, "n_jobs": 1}
    for name, labels in (("two", y), ("three", several)):
        found.append(folder / f"{name}.txt")
        lightgbm.LGBMClassifier(**options).fit(X, labels).booster_.save_model(found[-1])
    return found


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Return ``content`` with one kind of damage, or a few bits changed."""
    changed, at = bytearray(content), draw.randrange(len(content))
    end = min(len(content), at + draw.randrange(1, 60))
    kind = draw.choice(("cut", "bits", "byte", "number", "field", "more", "twice", "less"))
    if kind == "cut":
        return content[:at]
    if kind == "more":
        return content[:at] + draw.randbytes(draw.randrange(1, 9)) + content[at:]
    if kind == "twice":
        return content[:end] + content[at:]
    if kind == "less":
        return content[:at] + content[end:]
    if kind == "byte":
        changed[at] = draw.randrange(256)
        return bytes(changed)
    pattern = rb"-?\d+(\.\d+)?" if kind == "number" else rb"[A-Za-z_]{4,}"
    places = [*re.finditer(pattern, content)] if kind != "bits" else []
    if not places:
        for _ in range(draw.randrange(1, 5)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        return bytes(changed)
    place, other = draw.choice(places), draw.choice(places).group()
    words = (other, b"x", place.group()[:-1], place.group()[::-1])
    new = draw.choice(_NUMBERS if kind == "number" else words)
    return content[: place.start()] + new + content[place.end() :]


def trials(folder: Path) -> Callable[[int], Callable[[], object]]:
    """Return what makes a try of a damaged file from a seed."""
    every = kinds(folder)
    for kind in every:  # modules are loaded before the children are made
        path = folder / f"whole{kind.suffix}"
        path.write_bytes(kind.content)
        kind.read(path)

    def made(seed: int) -> Callable[[], object]:
        draw = random.Random(seed)
        kind = draw.choice(every)
        path = folder / f"damaged{kind.suffix}"
        path.write_bytes(damaged(kind.content, draw))
        return lambda: kind.read(path)

    return made
