from typing import Any

import numpy as np
import onnx
import pytest

from milp_verix import InputError, Tolerances, load_network
from milp_verix.study import tasks
from milp_verix.study.journal import DONE, identity
from milp_verix.study.study_inputs import StudyInputs, inputs_of
from milp_verix.study.tasks import Setting, settings_of, tasks_of
from tests.support.digits_example import images, network
from tests.support.onnx_models import dense


def setting(kind: str = "explain", **arguments: Any) -> Setting:
    (found,) = settings_of([kind], {"epsilon": [0.1]}, arguments)
    return found


def key(x: np.ndarray | None = None, kind: str = "explain", **arguments: Any) -> str:
    inputs = inputs_of(images()[:1] if x is None else x[None], 64)
    (task,) = tasks_of(network(), inputs, [0], [setting(kind, **arguments)])
    return task.key


def test_a_grid_is_every_combination_that_a_task_takes() -> None:
    grid = {"epsilon": [0.1, 0.2], "order": ["bound", "random"]}
    found = settings_of(["explain", "minimum"], grid, {"time_limit": 3.0, "gap": 0.1})
    assert [(one.task, dict(one.arguments)) for one in found] == [
        *(
            ("explain", {"epsilon": e, "order": order, "time_limit": 3.0})
            for e in (0.1, 0.2)
            for order in ("bound", "random")
        ),
        *(("minimum", {"epsilon": e, "time_limit": 3.0, "gap": 0.1}) for e in (0.1, 0.2)),
    ]
    assert found[0].options["norm"] == "linf"


def test_all_settings_of_an_input_come_before_the_next() -> None:
    read: list[int] = []

    def read_one(index: int) -> np.ndarray:
        read.append(index)
        return images()[index]

    found = settings_of(["explain"], {"epsilon": [0.1, 0.2]}, {})
    given = list(tasks_of(network(), StudyInputs(9, read_one, lambda i: f"{i}.png"), [4, 2], found))
    assert [(one.index, one.name, one.setting.arguments["epsilon"]) for one in given] == [
        *((4, "4.png", 0.1), (4, "4.png", 0.2), (2, "2.png", 0.1), (2, "2.png", 0.2))
    ]
    assert read == [4, 2]
    assert len({one.key for one in given}) == 4


def test_the_key_tells_whatever_the_answer_depends_on() -> None:
    x = images()[0]
    other = x.copy()
    other.flat[0] = np.nextafter(other.flat[0], np.float32(1))
    keys = [
        key(),
        key(other),
        key(x.astype(np.float64)),
        key(x.reshape(64)),
        key(kind="minimum"),
        key(norm="l2"),
        key(domain=(0, np.inf)),
        key(features=[list(range(64))]),
        key(feature_names=[f"pixel {i}" for i in range(64)]),
        key(order=np.arange(64)),
        key(order=np.arange(64)[::-1]),
        key(order=np.arange(64, dtype=np.int32)),
        key(tolerances=Tolerances(margin=1e-3)),
    ]
    assert len(set(keys)) == len(keys)


def _radius_key(epsilon: Any) -> str:
    (one,) = settings_of(["explain"], {"epsilon": [epsilon]}, {})
    (task,) = tasks_of(network(), inputs_of(images()[:1], 64), [0], [one])
    return task.key


def test_the_key_is_the_same_with_defaults_said_and_with_other_limits_of_time() -> None:
    same = [key(), key(norm="linf"), key(time_limit=1.0), key(check_time_limit=2.0)]
    assert len(set(same)) == 1
    assert setting(time_limit=1.0).options["time_limit"] == 1.0


def test_the_key_is_the_same_in_other_words() -> None:
    for kind, ways in {
        "compare": [{"solvers": "highs"}, {"solvers": ["highs"]}, {"solvers": ("highs",)}],
        "explain": [{"against": 3, "domain": (0, 1)}, {"against": [3], "domain": (0.0, 1.0)}],
        "minimum": [{"must": [7]}, {"must": (7,)}, {"must": np.array([7])}],
    }.items():
        assert len({key(kind=kind, **way) for way in ways}) == 1
    radii: list[list[Any]] = [
        ["1/10", 0.1, " 0.10 ", np.float64(0.1)],
        ["inf", np.inf, "Infinity"],
        ["10%", " 10.0 %"],
        [{"a": "1/10", "*": "1%"}, {"a": 0.1, "*": "1.0 %"}],
        [{f"x{i}": "1/10" for i in range(99)}, dict.fromkeys((f"x{i}" for i in range(99)), 0.1)],
    ]
    keys = [{_radius_key(one) for one in ways} for ways in radii]
    assert [len(one) for one in keys] == [1] * len(radii)
    assert len(set().union(*keys)) == len(radii)
    groups = key(features=[list(range(64))]), key(features=np.arange(64))
    assert groups[0] != groups[1]


def test_a_task_keeps_the_key_that_an_earlier_journal_has() -> None:
    (task,) = tasks_of(network(), inputs_of(images()[:1], 64), [0], [setting(against=3)])
    assert task.spelt not in {task.key, key(against=3)}
    assert task.known_in({}).key == task.key
    assert task.known_in({identity(task.spelt, 0): DONE}).key == task.spelt
    ratio = settings_of(["explain"], {"epsilon": ["1/10"]}, {})
    (task,) = tasks_of(network(), inputs_of(images()[:1], 64), [0], ratio)
    assert ratio[0].options["epsilon"] == "1/10"
    assert task.known_in({identity(task.spelt, 0): DONE}).key == task.spelt != task.key


def test_the_key_depends_on_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(tasks, "version", lambda: "9.9")
    assert key() != before


def test_the_hash_of_a_network_covers_weights_and_output() -> None:
    model = dense()
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    weights = onnx.numpy_helper.to_array(changed.graph.initializer[0]).copy()
    weights.flat[0] += 1e-12
    changed.graph.initializer[0].CopyFrom(
        onnx.numpy_helper.from_array(weights, changed.graph.initializer[0].name)
    )
    hashes = [load_network(one).content_sha256 for one in (model, changed, model)]
    assert hashes[0] == hashes[2] != hashes[1]


def test_the_hash_of_a_network_covers_weights_beside_the_file(tmp_path: Any) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(dense(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    before = load_network(path)
    data = bytearray((tmp_path / "w.bin").read_bytes())
    data[6] ^= 1
    (tmp_path / "w.bin").write_bytes(data)
    after = load_network(path)
    assert before.sha256 == after.sha256
    assert before.content_sha256 != after.content_sha256


def test_an_input_that_cannot_be_read_is_a_task_with_a_problem() -> None:
    def refuse(index: int) -> np.ndarray:
        raise InputError(f"no input {index}")

    given = list(tasks_of(network(), StudyInputs(2, refuse), [0, 1], [setting()]))
    assert [one.problem for one in given] == ["no input 0", "no input 1"]
    assert given[0].key != given[1].key
    words = StudyInputs(1, lambda _: np.array(["a"]))
    (task,) = tasks_of(network(), words, [0], [setting()])
    assert task.x is None
    assert "must hold numbers" in str(task.problem)


@pytest.mark.parametrize(
    ("kinds", "grid", "options", "message"),
    [
        (
            ["explian"],
            {},
            {},
            "unknown task 'explian'; choose one of explain, minimum",
        ),
        ([], {"epsilon": [0.1]}, {}, "needs a task"),
        (["explain"], {"epsilon": []}, {}, "a value for each name in its grid: epsilon has none"),
        (["contrastive"], {"epsilon": [0.1], "order": ["bound"]}, {}, "can take no 'order'"),
        (["explain"], {"epsilon": [0.1]}, {"progress": print}, "can take no 'progress'"),
        (["explain"], {"epsilon": [0.1]}, {"epsilon": 0.1}, "in the grid, and given beside it"),
        (["explain"], {"order": "bound"}, {}, "order in the grid is a list of values, got 'bound'"),
        (["explain"], {"epsilon": [0.1]}, {"bounds": print}, "bounds: a study cannot tell one"),
    ],
)
def test_settings_that_make_no_study_are_refused(
    kinds: list[str], grid: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        settings_of(kinds, grid, options)
