"""Files of XGBoost and LightGBM that other programs have written again."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix as mv

ROWS = np.random.default_rng(0).random((200, 3))
LABELS = (ROWS[:, 0] + ROWS[:, 1] > 1).astype(int)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]


def _explained(path: Path) -> Any:
    return mv.explain(mv.load_network(path), ROWS[0], epsilon=0.1).explanation


@pytest.fixture(scope="module")
def xgboost_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    xgboost = pytest.importorskip("xgboost")
    path = tmp_path_factory.mktemp("xgboost") / "model.json"
    xgboost.XGBClassifier(n_estimators=3, max_depth=2).fit(ROWS, LABELS).save_model(path)
    return path


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("order", [["about", "learner", "version"], ["version", "learner"]])
def test_json_of_xgboost_in_any_order(
    xgboost_file: Path, encoding: str, order: list[str], tmp_path: Path
) -> None:
    model = {"about": {"by": [1, "us"]}, **json.loads(xgboost_file.read_text())}
    path = tmp_path / "model.json"
    path.write_text(json.dumps({key: model[key] for key in order}, indent=2), encoding=encoding)
    assert _explained(path) == _explained(xgboost_file)


def test_ubjson_of_xgboost_with_another_key_first(xgboost_file: Path, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    xgboost.Booster(model_file=xgboost_file).save_model(tmp_path / "model.ubj")
    content = (tmp_path / "model.ubj").read_bytes()
    path = tmp_path / "other.ubj"
    path.write_bytes(content[:1] + b"L" + struct.pack(">q", 5) + b"abouti\x01" + content[1:])
    assert _explained(path) == _explained(xgboost_file)


def _without_points(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _without_points(value) for name, value in found.items()}
    if isinstance(found, list):
        return [*map(_without_points, found)]
    return int(found) if isinstance(found, float) and found.is_integer() else found


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_json_of_xgboost_in_which_whole_numbers_lost_their_points(
    booster: str, tmp_path: Path
) -> None:
    """So jq and JavaScript write it; the library says "from Integer to Number"."""
    xgboost = pytest.importorskip("xgboost")
    usual, path = tmp_path / "usual.json", tmp_path / "model.json"
    options = {"n_estimators": 3, "max_depth": 2, "base_score": 0.5, "booster": booster}
    xgboost.XGBClassifier(**options).fit(ROWS, LABELS).save_model(usual)
    written = _without_points(json.loads(usual.read_text()))
    trees = written["learner"]["gradient_booster"]
    first = trees.get("gbtree", trees)["model"]["trees"][0]
    assert {int, float} == {*map(type, first["loss_changes"])}
    path.write_text(json.dumps(written, indent=2))
    model, found = mv.load_network(usual), mv.load_network(path)
    assert np.array_equal(found.evaluate_many(ROWS), model.evaluate_many(ROWS))
    assert found.facts == model.facts


def test_a_linear_booster_without_weights_is_refused_before_it_ends_the_process(
    tmp_path: Path,
) -> None:
    xgboost = pytest.importorskip("xgboost")
    path = tmp_path / "model.json"
    xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(ROWS, LABELS).save_model(path)
    written = json.loads(path.read_text())
    del written["learner"]["gradient_booster"]["model"]["weights"]
    path.write_text(json.dumps(written))
    with pytest.raises(mv.UnsupportedOperatorError, match="'gblinear', which has no trees"):
        mv.load_network(path)


def test_ubjson_of_xgboost_in_float64_is_refused_before_it_ends_the_process(
    xgboost_file: Path, tmp_path: Path
) -> None:
    xgboost = pytest.importorskip("xgboost")
    path = tmp_path / "model.ubj"
    xgboost.Booster(model_file=xgboost_file).save_model(path)
    content, start = path.read_bytes(), b"base_weights[$d#L"
    at = content.index(start) + len(start)
    (count,) = struct.unpack_from(">q", content, at)
    numbers = np.frombuffer(content, ">f4", count, at + 8).astype(">f8").tobytes()
    wide = content[: at - 3] + b"D#L" + content[at : at + 8] + numbers
    wide += content[at + 8 + 4 * count :]
    # of a strange version the library prints what it has read, and float64 ends the process
    at = wide.index(b"version[#L") + len(b"version[#L") + 8
    path.write_bytes(wide[:at] + b"Z" + wide[at + 2 :])
    with pytest.raises(mv.ModelError, match="of float64, not of float32"):
        mv.load_network(path)


@pytest.mark.parametrize("content", [b'{"hello": 1}', b'\xff\xfe{\0"\0a\0"\0:\x001\0}\0'])
def test_other_json_is_refused_by_what_it_lacks(content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("xgboost")
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(mv.ModelError, match=r"as a file of XGBoost, .* has no 'learner'; give a"):
        mv.load_network(path)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("end", ["\n", "  \n", "\t\r\n", " \r"])
def test_text_of_lightgbm_in_any_encoding(encoding: str, end: str, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=3, num_leaves=4, verbose=-1).fit(ROWS, LABELS)
    usual, path = tmp_path / "usual.txt", tmp_path / "model.txt"
    model.booster_.save_model(usual)
    path.write_bytes(usual.read_text().replace("\n", end).encode(encoding))
    assert _explained(path) == _explained(usual)


@pytest.mark.parametrize("place", ["num_feature", "split_indices", "version"])
def test_a_number_of_thousands_of_digits_is_told_in_our_words(
    xgboost_file: Path, place: str, tmp_path: Path
) -> None:
    text, digits, path = xgboost_file.read_text(), "7" * 10_000, tmp_path / "model.json"
    for value in ('"3"', "[0", "[1", "[2", "[3"):
        new = value.rstrip('0123456789"') + digits + ('"' if value == '"3"' else "")
        text = text.replace(f'"{place}":{value}', f'"{place}":{new}')
    assert digits in text
    path.write_text(text)
    with pytest.raises(mv.ModelError, match="a whole number in it has thousands of digits"):
        mv.load_network(path)


@pytest.mark.parametrize(
    ("stands", "damaged"),
    [
        ("num_class:3", "num_class:2"),
        ("num_class:3", "num_class:99999999999"),  # ended the process where it predicts
        ("num_class=3", "num_class=2"),
        ("num_tree_per_iteration=3", "num_tree_per_iteration=1"),
    ],
)
def test_lightgbm_with_other_numbers_of_classes_is_refused(
    stands: str, damaged: str, tmp_path: Path
) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    labels = LABELS + (ROWS[:, 2] > 0.7)
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(ROWS, labels)
    text = model.booster_.model_to_string()
    path = tmp_path / "model.txt"
    path.write_text(text)
    assert mv.load_network(path).output_size == 3
    path.write_text(text.replace(stands, damaged, 1))
    with pytest.raises(mv.ModelError, match="its classes are odd"):
        mv.load_network(path)


def test_lightgbm_prints_no_error_of_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=1, verbose=-1).fit(ROWS, LABELS)
    for other in ("foo", "binary sigmoid:0"):
        text = model.booster_.model_to_string().replace("=binary sigmoid:1", f"={other}")
        (tmp_path / "model.txt").write_text(text)
        with pytest.raises(mv.ModelError, match=r"LightGBM cannot read .*: (Unknown|Sigmoid)"):
            mv.load_network(tmp_path / "model.txt")
    assert capfd.readouterr() == ("", "")


def test_a_child_of_lightgbm_that_only_seems_a_leaf_is_refused(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=1, num_leaves=4, verbose=-1).fit(ROWS, LABELS)
    text = model.booster_.model_to_string()
    line = next(one for one in text.split("\n") if one.startswith("right_child="))
    assert line.endswith(" -4")
    path = tmp_path / "model.txt"
    # 4 leaves, and nodes 0 to 2: the library never came back from node 6
    path.write_text(text.replace(line, f"{line[:-2]}6"))
    with pytest.raises(mv.ModelError, match="tree 0 has a child that is none"):
        mv.load_network(path)


def test_a_chain_of_splits_with_categories_is_read_at_any_depth(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    depth = 1500
    lists = {
        "split_feature": [1, *[0] * (depth - 1)],
        "threshold": range(depth),
        "decision_type": [1, *[2] * (depth - 1)],
        "left_child": range(-1, -depth - 1, -1),
        "right_child": [*range(1, depth), -depth - 1],
        "cat_boundaries": [0, 1],
        "cat_threshold": [5],
        "leaf_value": range(depth + 1),
    }
    facts = {"version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "label_index": 0}
    facts |= {"max_feature_idx": 1, "objective": "regression", "feature_names": "a b"}
    facts |= {"feature_infos": "[0:2000] 0:1:2:3", "": "", "Tree": 0, "num_leaves": depth + 1}
    facts |= {"num_cat": 1, **{name: " ".join(map(str, one)) for name, one in lists.items()}}
    path = tmp_path / "chain.txt"
    lines = ["tree", *(f"{name}={value}" if name else "" for name, value in facts.items())]
    path.write_text("\n".join([*lines, "shrinkage=1", "", "end of trees", ""]))
    rows = np.array([[10.5, 0.0], [10.5, 1.0], [1498.5, 3.0], [1600.0, 3.0]])
    found = mv.load_network(path).evaluate_many(rows)
    expected = lightgbm.Booster(model_file=path).predict(rows)
    np.testing.assert_array_equal(found.reshape(-1), expected)
