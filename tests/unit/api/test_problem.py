"""A question is a value: equal, hashable, in words, and it answers as the one-liners do."""

import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest

import milp_verix as mv
from milp_verix import InputError, Problem, Search
from tests.support.digits_example import images, network
from tests.support.onnx_models import FLOAT, build, node

X = np.array([0.6, 0.25], dtype=np.float32)
NAMED: dict[str, Any] = {"feature_names": ["age", "size"], "domain": (0.0, 1.0)}
METHODS = {
    "explain": "explain",
    "minimum": "minimum",
    "contrastive": "contrastive",
    "enumerate": "enumerate_explanations",
    "check": "check",
    "audit": "audit",
    "relevance": "relevance",
    "importance": "importance",
    "radius": "robustness_radius",
    "sweep": "epsilon_sweep",
    "compare": "compare",
    "certify": "certify",
    "export": "encode_check",
}


def pair() -> mv.OnnxNetwork:
    nodes = [node("MatMul", ["x", "A"], ["h"]), node("Relu", ["h"], ["y"])]
    model = build(nodes, inputs={"x": (1, 2)}, constants={"A": np.eye(2)}, elem=FLOAT)
    return mv.load_network(model)


def described() -> mv.Inputs:
    features = [mv.continuous("age", 0, 1), mv.continuous("size", 0, 1)]
    return mv.Inputs(features, class_names=["young", "small"])


def test_a_question_goes_to_another_process() -> None:
    for problem in (
        Problem(network(), images()[15], epsilon=0.1, against=9),
        Problem(pair(), {"age": 0.6, "size": 0.25}, epsilon=0.1, inputs=described()),
    ):
        copied = pickle.loads(pickle.dumps(problem))
        assert copied == problem
        assert str(copied) == str(problem)
        assert copied.explain().explanation == problem.explain().explanation
        assert np.array_equal(
            copied.network.evaluate(problem.x), problem.network.evaluate(problem.x)
        )


def test_equal_questions_are_equal_and_others_are_not() -> None:
    net, x = network(), images()[15]
    problem = Problem(net, x, epsilon=0.1)
    assert problem == Problem(net, x.reshape(-1), epsilon="1/10", norm="linf", label=7)
    assert hash(problem) == hash(Problem(net, x, epsilon=0.1))
    others = [
        Problem(net, images()[16], epsilon=0.1),
        Problem(net, x, epsilon=0.2),
        Problem(net, x, epsilon=0.1, norm="l1"),
        Problem(net, x, epsilon=0.1, against=9),
        Problem(net, x, epsilon=0.1, delta=0.5),
        Problem(net, x, epsilon=0.1, domain=(0, 2)),
        Problem(net, x, epsilon=0.1, features=np.arange(64).reshape(8, 8) // 2),
    ]
    assert len({problem, *others}) == 8
    assert problem.at(0.2) == others[1]
    assert problem.at(0.2).at(0.1) == problem
    assert problem != "problem"


def test_a_question_does_not_change() -> None:
    problem = Problem(pair(), X, epsilon=0.1)
    with pytest.raises(AttributeError):
        problem.radii = (1.0,)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        problem.x[0] = 1


def test_a_question_in_words() -> None:
    net, x = network(), images()[15]
    told = str(Problem(net, x, epsilon=0.1, against=[9, 3]))
    assert told == (
        "Which of the 64 features keep the prediction of digits.onnx, class 7, ahead of 3 and 9 "
        "while the others change, each by at most 0.1?"
    )
    told = str(Problem(pair(), X, epsilon=0.1, norm="l2", delta=0.5, output=1))
    assert told == (
        "Which of the 2 features keep output 1 of the model in memory, 0.25, within ±0.5 while the "
        "others change, by at most 0.1 in length?"
    )


@pytest.mark.parametrize(
    ("epsilon", "reach"),
    [
        (0.1, "by at most 0.1 in its own unit"),
        ("30%", "by at most 30 % of its range"),
        (np.inf, "over its whole domain"),
        ({"age": 0.5, "size": 0.25}, "by at most a radius of its own, 0.25 to 0.5"),
    ],
)
def test_a_question_about_a_table_in_words(epsilon: Any, reach: str) -> None:
    inputs = mv.Inputs(
        [mv.continuous("age", 0, 1), mv.continuous("size", 0, 2)],
        class_names=["young", "small"],
        rules=["age <= 0.9"],
    )
    told = str(Problem(pair(), X, epsilon=epsilon, against="small", inputs=inputs))
    assert told == (
        "Which of the 2 features keep the prediction of the model in memory, “young”, ahead of "
        f"“small” while the others change, each {reach}, and obey 1 rule?"
    )


def test_options_of_a_search_go_into_a_search() -> None:
    problem = Problem(pair(), X, epsilon=0.1)
    with pytest.raises(
        TypeError, match=r"Problem.explain\(\) .*'solver'; give search=Search\(solv"
    ):
        problem.explain(solver="phase")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Problem.relevance\(\) missing .*'feature'$"):
        problem.relevance()  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"search must be a milp_verix.Search, got \{'solver'"):
        problem.check([0], search={"solver": "phase"})  # type: ignore[arg-type]


def test_signatures_are_readable() -> None:
    for asked in (mv.explain, mv.minimum, Problem, Problem.minimum, Problem.sweep):
        told = str(inspect.signature(asked))
        assert not re.search(r"numpy|typing|collections|milp_verix|'\w+ \|", told), told
    assert "costs: CostsLike = None" in str(inspect.signature(Problem.minimum))


def test_a_question_is_told_in_short() -> None:
    net, x = network(), images()[15]
    assert repr(Problem(net, x, epsilon=0.1)).startswith("Problem('digits.onnx', x of shape")


def test_methods_answer_as_the_one_liners_do() -> None:
    net, x = network(), images()[15]
    problem, search = Problem(net, x, epsilon=0.1), Search(solver="phase", seed=3)
    asked: dict[str, Any] = {"epsilon": 0.1, "solver": "phase"}
    found = problem.explain(order="random", search=search)
    assert found.explanation == mv.explain(net, x, order="random", seed=3, **asked).explanation
    assert problem.check(found.irrelevant).holds
    assert problem.audit(found, sound_only=True).sound
    assert problem.certify(found).proven
    sweep = problem.sweep([0.05, 0.1], search=search)
    levels = mv.epsilon_sweep(net, x, epsilons=[0.05, 0.1], solver="phase").levels
    assert [one.explanation for one in sweep.levels] == [one.explanation for one in levels]


def test_features_and_classes_by_name() -> None:
    problem = Problem(pair(), X, epsilon=0.4, label="young", against="small", inputs=described())
    assert problem == Problem(pair(), X, epsilon=0.4, against=[1], inputs=described())
    assert problem.check(["age", "size"]).violated
    assert problem.check(["age"]).answer is problem.check([0]).answer
    assert problem.radius(free=["size"]).brackets[0].features == (1,)
    assert problem.audit(["size", "age"]).explanation == (0, 1)
    assert problem.explain(order=["size", 0]).permutation == (1, 0)
    assert problem.minimum(costs={"age": 3, "*": 1}).costs == (3.0, 1.0)
    assert problem.contrastive(costs={1: 2.0, 0: 1}).costs == (1.0, 2.0)
    assert problem.relevance("age").features == (0,)
    assert problem.compare(solvers=["phase"], checks=[["size"]]).checks == ((1,),)
    assert problem.export(["age"]).program.rows >= 0
    for wrong in (lambda: problem.check(["sizes"]), lambda: problem.minimum(costs={"sice": 1})):
        with pytest.raises(InputError, match=r"(sizes|sice).*did you mean 'size'"):
            wrong()
    with pytest.raises(InputError, match=r"no class is called 'yung': they are young, small.*you"):
        Problem(pair(), X, epsilon=0.4, label="yung", inputs=described())
    with pytest.raises(InputError, match=r"class 0 \(young\), not class 1 \(small\)"):
        Problem(pair(), X, epsilon=0.4, label="small", inputs=described())
    with pytest.raises(InputError, match=r"names class 0 \(young\), .* the classes young, small"):
        Problem(pair(), X, epsilon=0.4, against="young", inputs=described())


def test_an_option_that_a_search_does_not_take_is_refused() -> None:
    problem = Problem(pair(), X, epsilon=0.1)
    with pytest.raises(InputError, match="takes no bounds, got 'lp': leave it out"):
        problem.minimum(search=Search(bounds="lp"))
    with pytest.raises(InputError, match="a comparison takes no solver"):
        problem.compare(search=Search(solver="highs"))
    with pytest.raises(TypeError, match=r"Problem\(\) got an unexpected keyword argument 'eps'"):
        Problem(pair(), X, eps=0.1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unexpected keyword") as refused:
        mv.explain(pair(), X, **{"e" * 2000: 0.1})  # type: ignore[arg-type]
    assert len(f"error: {refused.value}") == 400


@pytest.mark.parametrize(("method", "function"), METHODS.items())
def test_each_method_has_the_options_of_its_one_liner(method: str, function: str) -> None:
    own = [*inspect.signature(getattr(Problem, method)).parameters][1:]
    whole = inspect.signature(getattr(mv, function)).parameters
    assert {*own} - {"search"} <= {*whole}
    told, elsewhere = getattr(mv, function).__doc__, mv.explain.__doc__ or ""
    if function not in ("explain", "certify"):
        assert "errors: see :func:`milp_verix.explain`." in told
        told += elsewhere
    for name in whole:
        assert f"    {name}: " in told or function == "certify"


def test_a_search_is_a_value() -> None:
    assert Search(threads=2) == Search(solver="auto", threads=2) != Search()
    assert hash(Search(threads=2)) == hash(Search(threads=2))
    assert repr(Search(solver="scip", time_limit=5)) == "Search(solver='scip', time_limit=5)"
    assert pickle.loads(pickle.dumps(Search(seed=4))) == Search(seed=4)
