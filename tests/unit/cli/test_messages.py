"""Messages on the command line: text pipelines in pickles, with words that may go or come."""

import re
from pathlib import Path

import pytest

from milp_verix import Explanation, Message
from tests.support.command_line import run_here

sklearn = pytest.importorskip("sklearn")

import joblib  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

TEXTS = ["free prize, call now", "win a free prize", "lunch at noon?", "call me at lunch, friend"]
TEXT = "FREE prize, friend! Call now"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the file of a fitted pipeline."""
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100.0))
    file = tmp_path / "spam.joblib"
    joblib.dump(pipeline.fit(TEXTS, ["spam", "spam", "ham", "ham"]), file)
    return file


def test_a_message_is_explained_with_its_words(model: Path, tmp_path: Path) -> None:
    json, plot = tmp_path / "out.json", tmp_path / "out.png"
    done = run_here("explain", model, TEXT, "--add", "lunch, noon", "--json", json, "--plot", plot)
    assert done.returncode == 0, done.stderr
    found = Explanation.from_json(json.read_text(encoding="utf-8"))
    message = Message.of(joblib.load(model), TEXT, add=["lunch", "noon"])
    assert found.explanation == message.problem().explain().explanation
    assert found.inputs == message.inputs
    assert found.model.file == "spam.joblib"
    assert found.sentence() == message.sentence(found)
    assert found.sentence().endswith("whatever other words go or come.")
    assert found.sentence() in " ".join(done.stdout.split())
    assert message.marked(found, before="<", after=">") != TEXT
    assert plot.stat().st_size > 1000


def test_a_file_of_text_and_words_that_stay(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "message.txt"
    text.write_text(f"{TEXT}\n", encoding="utf-8")
    plain = run_here("explain", model, TEXT)
    assert run_here("explain", model, text).stdout.splitlines()[0] == plain.stdout.splitlines()[0]
    near = run_here("explain", model, text, "--epsilon", "0.5")
    assert near.returncode == 0, near.stderr
    # no word may go: they all stand there
    assert "whatever other words go" in (told := " ".join(near.stdout.split()))
    for word in ("free", "prize", "friend", "call", "now"):
        assert f"“{word}”" in told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["model", TEXT, "--add", "xylophone"], r"does not know .*xylophone"),
        (["model", "nothing of it"], "knows no word of the message"),
        (["model", "absent.txt"], "cannot read absent.txt"),
        (["model", TEXT, "--inputs", "some.json"], "--inputs describes tables"),
        (["broken", TEXT], "cannot read .*broken.pkl"),
        (["onnx", "x.npy"], "--epsilon is missing"),
        (["onnx", "x.npy", "--add", "lunch"], "this model reads no text"),
    ],
)
def test_refusals(model: Path, tmp_path: Path, more: list[str], told: str) -> None:
    broken = tmp_path / "broken.pkl"
    broken.write_bytes(b"no pickle")
    files = {"model": model, "broken": broken, "onnx": "examples/digits.onnx"}
    done = run_here("explain", files[more[0]], *more[1:])
    assert done.returncode == 2
    assert re.search(told, " ".join(done.stderr.split()))
