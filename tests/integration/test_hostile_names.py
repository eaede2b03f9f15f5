"""Names that somebody else wrote: no command, table or page passes their control characters on.

A description, a model's nodes, files, words of a message and errors hold sequences that would clear
a line, set a title, turn letters round or begin a line of their own.
"""

import json
import os
import pty
import subprocess
from pathlib import Path
from unicodedata import category

import numpy as np
import onnx
import pytest
from onnx import parser

from milp_verix import (
    Explanation,
    Inputs,
    Message,
    Problem,
    UnsupportedOperatorError,
    load_network,
    read_study,
)
from milp_verix.base.errors import printable
from tests.support.command_line import ENVIRONMENT, command, run_here

ORDERS = (
    *(
        "\x1b[2K\x1b[1A",
        "\x1b]0;owned\x07",
        "\x9b31m",
        "\u202e",
        "\u2066",
        "\u2028",
        "\x85",
        "\x0c",
    ),
    *(
        "\x0c",
        "\r",
        "\nPROVEN ROBUST",
        "\t",
        "\x00",
        "\u200b",
        "\U000e0041",
        "\ufeff",
        "\x7f",
        "\u061c",
    ),
)
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def unseen(text: str) -> set[str]:
    """Return the characters in ``text`` that are not seen, but for the ends of its lines."""
    return {one for one in text if category(one) in UNSEEN and one != "\n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, a description, an input and a table, all of hostile names."""
    made = tmp_path_factory.mktemp("hostile")
    order = "".join(ORDERS)
    file = made / "lo\x1b[31man\u202e\n.onnx"
    text = (
        '<ir_version: 8, opset_import: ["": 17]> loan (float[1,3] x) => (float[1,2] s) '
        "<float[3,2] W = {1.0, -1.0, -8.0, 8.0, 0.5, -0.5}, float[2] b = {-3.5, 3.5}>"
        "{ s = Gemm(x, W, b) }"
    )
    model = parser.parse_model(text)
    model.graph.node[0].name = f"node{order}"
    model.graph.node[0].output[0] = model.graph.output[0].name = f"scores{order}"
    onnx.save(model, file)
    names = [f"income{order}", f"arrears{order}", f"job{order}"]
    words = [f"no{order}", f"yes{order}", f"maybe{order}"]
    features = [
        {"name": names[0], "kind": "integer", "lower": 0, "upper": 10, "unit": f"EUR{order}"},
        {"name": names[1], "kind": "binary", "values": words[:2]},
        {"name": names[2], "kind": "category", "values": words},
    ]
    classes = [f"granted{order}", f"refused{order}"]
    description = {"features": features, "class_names": classes}
    person = dict(zip(names, [9, words[0], words[1]], strict=True))
    (made / "inputs.json").write_text(json.dumps(description), encoding="utf-8")
    (made / "per\x1b[2Kson.json").write_text(json.dumps(person), encoding="utf-8")
    np.save(made / "people\x1b[2K.npy", np.array([[9, 0, 1], [1, 1, 2], [5, 0, 0]], dtype=float))
    return made


def paths(folder: Path) -> tuple[Path, Path, list[object]]:
    (model,) = folder.glob("*.onnx")
    return model, folder / "per\x1b[2Kson.json", ["--inputs", folder / "inputs.json"]


QUESTIONS: dict[str, list[str]] = {
    "explain": ["--epsilon", "inf"],
    "minimum": ["--epsilon", "inf"],
    "contrastive": ["--epsilon", "inf", "--count", "3"],
    "inflate": ["--epsilon", "inf"],
    "enumerate": ["--epsilon", "inf"],
    "relevance": ["--epsilon", "inf", "--protected", "1"],
    "importance": ["--epsilon", "inf"],
    "radius": ["--each"],
    "sweep": ["--epsilons", "inf,1"],
    "audit": ["--epsilon", "inf", "--explanation", "set.json"],
    "compare": ["--epsilon", "inf", "--solvers", "highs,phase"],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_and_their_pages(name: str, folder: Path, tmp_path: Path) -> None:
    model, person, described = paths(folder)
    (folder / "set.json").write_text("[0, 1]", encoding="utf-8")
    more = [folder / one if one == "set.json" else one for one in QUESTIONS[name]]
    out, page = tmp_path / "out\x1b[2K.json", tmp_path / "page.html"
    files = ["--csv", tmp_path / "out.csv", "--each", tmp_path / "each.csv"] * (name == "compare")
    done = run_here(name, model, person, *more, *described, "--json", out, *files)
    assert done.returncode in (0, 3, 5), done.stderr
    reported = run_here("report", out, "--output", page)
    assert reported.returncode == 0, reported.stderr
    html = page.read_text(encoding="utf-8")
    written = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.csv")]
    assert not unseen("".join([done.stdout, done.stderr, reported.stdout, html, *written]))
    for told in (done.stdout, html):
        assert "\nPROVEN ROBUST" not in told
        assert "\\x1b" in told or name == "compare"
    if name in ("compare", "sweep"):
        return
    raw = json.loads(out.read_text(encoding="utf-8"))
    assert raw["inputs"] == Inputs.from_file(folder / "inputs.json").to_data()  # names as they are


def test_studies(folder: Path, tmp_path: Path) -> None:
    model, _, described = paths(folder)
    journal, page = tmp_path / "stu\x1b[2Kdy.jsonl", tmp_path / "page.html"
    people = folder / "people\x1b[2K.npy"
    given = [model, people, *described, "--epsilon", "inf", "--journal", journal]
    certificates = ["--certificate", tmp_path / "proofs\x1b[2K"]
    done = [
        run_here("batch", *given, *certificates),
        run_here("columns", journal),
        run_here("report", journal, "--output", page),
    ]
    assert [one.returncode for one in done] == [0, 0, 0], [one.stderr for one in done]
    texts = [text for one in done for text in (one.stdout, one.stderr)]
    table = read_study(journal)
    table["name"], table["reason"] = ORDERS[0], "=" + ORDERS[1]
    texts += [page.read_text(encoding="utf-8"), str(table.to_csv())]
    assert not unseen("".join(texts))
    assert "\\x1b" in done[1].stdout
    assert "'=" in texts[-1]
    table.to_csv(tmp_path / "table.csv", index=False)
    assert (tmp_path / "table.csv").stat().st_size > 100


def test_programs_and_proofs(folder: Path, tmp_path: Path) -> None:
    model, person, described = paths(folder)
    out, result = tmp_path / "out.lp", tmp_path / "res\x1b[2Kult.json"
    export = ["--epsilon", "1", "--free", "0,1", "--out", out]
    done = [
        run_here("export", model, person, *described, *export),
        run_here("explain", model, person, *described, "--epsilon", "inf", "--json", result),
        run_here("certify", result, model, "--output", tmp_path / "pro\x1b[2Kof"),
        run_here("solvers", "highs"),
    ]
    assert [one.returncode for one in done] == [0] * 4, [one.stderr for one in done]
    texts = [text for one in done for text in (one.stdout, one.stderr)]
    assert not unseen("".join([*texts, out.read_text(encoding="utf-8")]))


@pytest.mark.parametrize("order", ORDERS)
def test_errors(order: str, folder: Path, tmp_path: Path) -> None:
    model, person, described = paths(folder)
    name = f"a{order}b"
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"features": [{"name": name, "kind": name}]}), encoding="utf-8")
    in_paths = order.replace("\0", "\1")
    for given in (
        [f"no{in_paths}.onnx", person, "--epsilon", "1"],
        [model, f"{person}{in_paths}", *described, "--epsilon", "inf"],
        [model, person, "--inputs", broken, "--epsilon", "inf"],
        [model, person, *described, "--epsilon", name],
        [model, person, *described, "--epsilon", "inf", "--order", name],
        [model, person, *described, "--epsilon", "inf", "--solver", name],
        [model, person, *described, "--epsilon", "inf", "--label", name],
        [model, person, *described, "--time-limit", name],
        [model, person, f"--{name}"],
        [model, person, name, name],
    ):
        done = run_here("explain", *given)
        assert done.returncode == 2
        assert done.stderr
        assert not unseen(done.stdout + done.stderr)
    done = run_here(name)
    assert done.returncode == 2
    assert not unseen(done.stdout + done.stderr)


def test_nodes_that_cannot_be_read(folder: Path) -> None:
    graph = onnx.load(paths(folder)[0])
    graph.graph.node[0].op_type = f"Gemm{ORDERS[0]}"
    with pytest.raises(UnsupportedOperatorError) as raised:
        load_network(graph)
    assert not unseen(str(raised.value))
    assert "\\x1b" in str(raised.value)


def test_texts_in_python(folder: Path) -> None:
    model, person, _ = paths(folder)
    inputs = Inputs.from_file(folder / "inputs.json")
    row = json.loads(person.read_text(encoding="utf-8"))
    problem = Problem(model, row, inputs=inputs, epsilon=np.inf)
    found = problem.explain()
    assert isinstance(found, Explanation)
    check = problem.check([0])
    (one, *_) = found.explanation
    told = [str(problem), repr(problem), str(inputs), inputs._repr_html_(), str(check), repr(found)]
    told += [found.sentence(), found.sentence(one), check.sentence(), found._repr_html_()]
    told += [repr(problem.audit([0, 1])), repr(problem.radius()), str(problem.network)]
    told += [found.inflate().sentence(), problem.contrastive().sentence()]
    assert not [text for text in told if unseen(text) or "\nPROVEN" in text]
    with pytest.raises(ValueError, match="has no coun") as raised:
        found.sentence(f"none{ORDERS[0]}")
    assert not unseen(str(raised.value))


def test_a_message_keeps_its_own_characters() -> None:
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = ["free prize", "win free", "lunch noon", "noon"]
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=100)).fit(texts, [1, 1, 0, 0])
    text = "free\x1b[2K \ue000prize\ue001 <b>\u202e\nnoon"
    message = Message.of(model, text)
    found = message.problem().explain()
    assert message.marked(found, before="", after="") == text
    page = message.page(found)
    assert not unseen(page)
    assert "\\x1b[2K" in page
    assert "\ue000" in page
    assert "&lt;b&gt;" in page
    assert not unseen(found.sentence())


def test_a_terminal_has_the_colours_of_tables_alone(folder: Path) -> None:
    model, person, described = paths(folder)
    mine, theirs = pty.openpty()
    given = command("explain", model, person, *described, "--epsilon", "inf")
    environment = {**ENVIRONMENT, "TERM": "xterm-256color"}
    process = subprocess.Popen(given, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(mine)
    assert process.wait() == 0
    text = seen.decode()
    assert "\x1b[2m" in text  # rich dims the names of facts
    assert "\\x1b]0;owned\\x07" in "".join(text.split())
    for order in ("\x1b]0;", "\x07", "\x9b", "\u202e", "\u2028", "\x85"):
        assert order not in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("age – “é” ½ 你好 👩\u200d👧 می\u200cخواهم\u00a0€\ue000", None),
        ("\x1b[2K", r"\x1b[2K"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\u202e\U000e0041\udcff", r"\u202e\U000e0041\udcff"),
        ("\x80\x85\x9f\u2028", r"\x80\x85\x9f\u2028"),
    ],
)
def test_escapes(text: str, told: str | None) -> None:
    assert printable(text) == (text if told is None else told)
    assert printable("a\nb\x00", "\n") == "a\nb\\x00"
