"""What is loaded when, and Ctrl-C while it is."""

import ast
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest

import milp_verix
from milp_verix.cli.app import COMMANDS, command_named
from tests.support.command_line import ENVIRONMENT
from tests.support.repository import ROOT

HEAVY = (
    *("numpy", "scipy", "onnx", "onnxruntime", "matplotlib", "PIL", "rich", "highspy", "pulp"),
    *("gurobipy", "pyscipopt", "pyomo", "jinja2"),
)
REPORT = "import sys; print(sorted(set(sys.argv[1:]) & set(sys.modules)), file=sys.stderr)"
OF_NO_USE_TO_A_DENSE_NETWORK = (
    *("matplotlib", "PIL", "jinja2", "sklearn", "pandas", "gurobipy", "pyomo", "pulp"),
    *("scipy.special", "onnx.reference"),
    *(
        f"milp_verix.{name}"
        for name in (
            *("models.onnx.tree_models", "models.trees.sklearn_trees"),
            *("models.trees.behind_table", "models.trees.tree_network"),
            *("certificates.certify", "searches.minimum", "study.tasks"),
        )
    ),
)


def heavy_after(code: str, names: Sequence[str] = HEAVY) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{REPORT}", *names],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    return done.stderr.splitlines()[-1]  # after what Typer says


@pytest.mark.parametrize(
    "code",
    [
        "import milp_verix; milp_verix.__version__; dir(milp_verix)",
        "import milp_verix; milp_verix.InputError",
        "import milp_verix.__main__",
        *(
            f"import sys\nfrom milp_verix.cli.app import app\n"
            f"try: app({arguments})\nexcept SystemExit: pass"
            for arguments in (["--help"], ["--version"], [], ["explian"])
        ),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code: str) -> None:
    assert heavy_after(code) == "[]"


@pytest.mark.slow
def test_figures_are_loaded_where_something_is_drawn() -> None:
    asked = "from milp_verix.cli.app import command_named; command_named('explain')"
    assert heavy_after(asked) == "['numpy', 'onnx', 'onnxruntime', 'rich', 'scipy']"


@pytest.mark.slow
def test_an_explanation_of_a_network_loads_nothing_of_trees_pictures_or_proofs() -> None:
    folder = ROOT / "examples"
    asked = (
        f"import sys; from milp_verix.cli.app import app\n"
        f"try: app(['explain', r'{folder / 'digits.onnx'}', r'{folder / 'digits.npz'}:images[0]', "
        f"'--epsilon', '0.1', '-q'])\nexcept SystemExit as end: assert not end.code"
    )
    used = ("milp_verix.models.trees.readers", "milp_verix.oracle.oracle")
    found = heavy_after(asked, (*OF_NO_USE_TO_A_DENSE_NETWORK, *used))
    assert found == str([*used])


@pytest.mark.slow
def test_an_explanation_on_the_terminal_loads_no_figures_and_no_pages() -> None:
    example = ROOT / "examples"
    asked = ["explain", str(example / "digits.onnx"), f"{example / 'digits.npz'}:images[15]"]
    code = (
        f"import sys\nfrom milp_verix.cli.app import app\n"
        f"try: app({[*asked, '--epsilon', '0.05']})\nexcept SystemExit as end: assert not end.code"
    )
    assert not {"matplotlib", "PIL", "jinja2"} & {*ast.literal_eval(heavy_after(code))}


def test_a_report_needs_no_pandas() -> None:
    code = "import sys; sys.modules['pandas'] = None; import milp_verix.study.report"
    assert heavy_after(code, ("pandas.plotting",)) == "[]"


def test_no_module_has_the_name_of_a_public_name() -> None:
    # Python would put it in the place of the function of that name, once it is imported
    for name in milp_verix.__all__:
        assert importlib.util.find_spec(f"milp_verix.{name}") is None


def test_public_names() -> None:
    assert dir(milp_verix) == sorted(milp_verix.__all__)
    source = Path(str(milp_verix.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    imported = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    homes = {name.name: f"milp_verix.{node.module}" for node in imported for name in node.names}
    assert sorted(homes) == sorted(milp_verix.__all__)
    for name, home in homes.items():
        assert getattr(milp_verix, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="no attribute 'explian'"):
        _ = milp_verix.explian
    with pytest.raises(ImportError, match="cannot import name 'explian'"):
        exec("from milp_verix import explian")


def test_the_version_is_the_installed_one() -> None:
    try:
        assert milp_verix.__version__ == metadata.version("milp-verix")
    except metadata.PackageNotFoundError:
        assert milp_verix.__version__ == "0+unknown"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_a_command_says(name: str) -> None:
    command = command_named(name)
    assert command.help.splitlines()[0] == COMMANDS[name]
    assert command.callback.__doc__.splitlines()[0] == COMMANDS[name]


def test_every_command_is_listed() -> None:
    files = (ROOT / "milp_verix" / "cli").glob("[!_]*.py")
    modules = [importlib.import_module(f"milp_verix.cli.{path.stem}") for path in files]
    found = [name for module in modules for name in getattr(module, "FUNCTIONS", ())]
    assert sorted(found) == sorted(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["typer", "onnxruntime"])
@pytest.mark.parametrize(
    "program",
    [["-m", "milp_verix"], ["-c", "from milp_verix.__main__ import main; main()"]],
)
def test_an_interrupt_while_modules_load_is_quiet(
    program: list[str], slow: str, tmp_path: Path
) -> None:
    loading = tmp_path / "loading"
    # like the packages that take whatever happens for a missing dependency
    (tmp_path / f"{slow}.py").write_text(
        "import pathlib, time\n"
        f"pathlib.Path({str(loading)!r}).touch()\n"
        "try:\n    time.sleep(60)\nexcept BaseException:\n    pass\n"
    )
    path = f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"
    process = subprocess.Popen(
        [sys.executable, *program, "explain", "model.onnx", "x.npy", "--epsilon", "0.1"],
        env={**ENVIRONMENT, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not loading.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=30)
    assert (process.returncode, *told) == (130, "", "")
