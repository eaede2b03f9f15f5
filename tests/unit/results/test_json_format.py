"""What is written can be read, by us bit for bit and by others as plain JSON."""

import copy
import json
import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Enumeration, Explanation, InputError, explain
from milp_verix.results.base import array_hash
from milp_verix.results.json_format import dump, load
from milp_verix.views.plot import plot
from milp_verix.views.result_words import facts_of
from tests.support.described_results import described
from tests.support.digits_example import explained, images, network
from tests.support.random_networks import as_layers, dense_network


def assert_same(found: Explanation, expected: Explanation) -> None:
    arrays = {"input", "counterfactuals"}
    for field in fields(Explanation):
        if field.name not in arrays:
            assert getattr(found, field.name) == getattr(expected, field.name), field.name
    pairs = [(found.input, expected.input)]
    assert found.counterfactuals.keys() == expected.counterfactuals.keys()
    for feature, counterfactual in expected.counterfactuals.items():
        assert found.counterfactuals[feature].prediction == counterfactual.prediction
        pairs.append((found.counterfactuals[feature].input, counterfactual.input))
    for left, right in pairs:
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert left.tobytes() == right.tobytes()


def test_a_classification_comes_back_bit_for_bit() -> None:
    expected = explained()
    assert expected.counterfactuals
    assert_same(Explanation.from_json(expected.to_json()), expected)


def test_an_explanation_is_pickled_and_copied() -> None:
    assert_same(pickle.loads(pickle.dumps(explained())), explained())
    assert_same(copy.deepcopy(explained()), explained())


@pytest.mark.slow
def test_a_result_that_was_read_is_written_told_and_drawn_as_before() -> None:
    record = load(explained().to_json(), Explanation)
    assert type(record) is Explanation
    assert dump(record) == explained().to_json()
    assert facts_of(record) == facts_of(explained())
    assert plot(record).render() == explained().plot().render()


def test_a_result_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="is not an enumeration: it holds 'explanation'"):
        Enumeration.from_json(explained().to_json())


def test_pickles_name_the_public_class() -> None:
    # so that they are read wherever its module goes
    assert type(explained()) is type(pickle.loads(pickle.dumps(explained()))) is Explanation
    assert b"milp_verix.results" not in pickle.dumps(explained())


def test_a_regression_comes_back_bit_for_bit(tmp_path: Path) -> None:
    layers = as_layers(
        ([[1, -1, 0.5], [0.25, 1, 1]], [0.1, -0.2]),
        ([[1, 1], [1, -2]], [0, 0.3]),
    )
    expected = explain(
        dense_network(layers, tmp_path),
        [0.1, 0.7, 0.3],
        epsilon=0.05,
        delta=0.04,
        output=1,
        features=[[0, 2], [1]],
        domain=([-1.0, 0.0, -math.inf], math.inf),
        order="sequential",
    )
    assert expected.counterfactuals
    found = Explanation.from_json(expected.to_json())
    assert_same(found, expected)
    assert found.replay(dense_network(layers, tmp_path)) == ()


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "explanation.json"
    text = explained().to_json(path)
    assert path.read_text(encoding="utf-8") == text
    assert_same(Explanation.from_json(path), explained())
    assert_same(Explanation.from_json(str(path)), explained())
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    target, link, pipe = (tmp_path / name for name in ("target.json", "link.json", "pipe"))
    link.symlink_to(target)
    assert explained().to_json(link) == target.read_text(encoding="utf-8")
    assert link.is_symlink()
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text, encoding="utf-8")
        assert explained().to_json(pipe) == read.result(timeout=60)
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [link, pipe, target]


def test_the_file_is_json_that_needs_no_reader_of_ours() -> None:
    data = json.loads(explained().to_json(), parse_constant=pytest.fail)
    expected = explained()
    assert (data["schema"], data["kind"]) == (3, "explanation")
    assert data["permutation"] == list(expected.permutation)
    assert data["traversal"] == expected.traversal == "galloping"
    assert data["model"]["sha256"] == network().sha256
    assert data["input_sha256"] == array_hash(images()[15].reshape(1, 1, 8, 8))
    assert data["prediction"] == expected.prediction
    assert (data["epsilon"], data["norm"], data["delta"]) == (0.1, "linf", None)
    assert (data["order"], data["solver"], data["minimal"]) == ("influence", "phase", True)
    assert data["explanation"] == list(expected.explanation)
    assert data["irrelevant"] == list(expected.irrelevant)
    assert data["unknown"] == []
    assert data["statistics"]["checks"] == expected.statistics.checks
    assert data["statistics"]["solves"] == expected.statistics.solves
    assert data["statistics"]["seconds"] == expected.statistics.seconds
    assert data["versions"][expected.solver]
    feature, first = next(iter(data["counterfactuals"].items()))
    scores = network().evaluate(np.array(first["input"], dtype=np.float32))
    assert int(np.argmax(scores)) == first["prediction"] != data["prediction"]
    assert int(feature) in data["explanation"]


def test_unknown_features_keep_their_reasons() -> None:
    full = explained()
    feature = full.explanation[0]
    partial = replace(
        full,
        unknown_reasons={feature: "time limit"},
        counterfactuals={k: v for k, v in full.counterfactuals.items() if k != feature},
    )
    assert not partial.minimal
    data = json.loads(partial.to_json())
    assert (data["unknown"], data["minimal"]) == ([feature], False)
    assert_same(Explanation.from_json(partial.to_json()), partial)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema 2, expected 3"),
        ({"schema": None}, "is no result of milp-verix"),
        ({"explanation": [0]}, "exactly once"),
        ({"permutation": [0]}, "permutation"),
        ({"counterfactuals": {}}, "needs a counterfactual"),
        ({"unknown_reasons": {"x": "?"}}, "not an explanation"),
        ({"input": None}, "not an explanation"),
        ({"minimal": False}, "minimal is false, which is not what follows"),
        ({"cost": 99}, "cost is 99, which is not what follows"),
        ({"statistics": {"check": 1}}, "statistics lacks 'checks'"),
    ],
)
def test_a_file_that_contradicts_itself(change: dict[str, Any], message: str) -> None:
    data = json.loads(explained().to_json()) | change
    with pytest.raises(InputError, match=message):
        Explanation.from_json(json.dumps(data))


@pytest.mark.slow
def test_an_explanation_on_its_way_names_its_traversal() -> None:
    snapshots = []
    options: dict[str, Any] = {"epsilon": 0.1, "traversal": "sequential"}
    explain(network(), images()[0], **options, progress=lambda s: snapshots.append(s.snapshot()))
    assert {snapshot.traversal for snapshot in snapshots} == {"sequential"}


def test_a_part_that_is_missing_is_named() -> None:
    data = json.loads(explained().to_json())
    del data["epsilon"]
    with pytest.raises(InputError, match="lacks 'epsilon'"):
        Explanation.from_json(json.dumps(data))


def test_an_input_that_was_changed_is_noticed() -> None:
    data = json.loads(explained().to_json())
    data["input"][0][0][0][0] = 0.123
    with pytest.raises(InputError, match="input_sha256 is"):
        Explanation.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["{", "{}", "[1]", "12", ""])
def test_a_file_that_is_no_explanation(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"other\.json"):
        Explanation.from_json(path)


def test_a_file_that_is_not_there_or_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json"):
        Explanation.from_json(tmp_path / "absent.json")
    with pytest.raises(InputError, match="cannot write"):
        explained().to_json(tmp_path / "no" / "folder.json")


def test_words_with_six_digits_of_earlier_versions_are_read() -> None:
    found = described()
    x = found.input.copy()
    x[1] = -1234.56789
    told = json.loads(replace(found, input=x).to_json())
    assert told["words"]["wage"] == "-1234.5679"  # of float32
    told["words"]["wage"] = "-1234.57"
    assert Explanation.from_json(json.dumps(told)).words["wage"] == "-1234.5679"
    told["words"]["wage"] = "-1234.5"
    with pytest.raises(InputError, match=r"words\.wage"):
        Explanation.from_json(json.dumps(told))
    for damaged in (["wage"], "wage", 7):
        with pytest.raises(InputError, match=r"words is .*, which is not what follows"):
            Explanation.from_json(json.dumps({**told, "words": damaged}))
