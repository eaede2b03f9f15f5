"""The solver's file that the documents have passes the suite, with its options."""

import re
from typing import Any

from milp_verix.testing import check_solver
from tests.support.repository import ROOT

PAGE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")


def test_it_passes_the_suite_with_its_options() -> None:
    text = re.search(r'^```python\n("""Toy.*?)^```', PAGE, re.DOTALL | re.MULTILINE)
    assert text is not None
    made: dict[str, Any] = {}
    exec(text[1], made)  # noqa: S102, RUF100
    solver = made["SOLVER"].named("toy?presolve=on&gap=0", [("presolve", "on"), ("gap", "0")])
    assert solver.options.settings == {"presolve": True, "mip_rel_gap": 0.0}
    found = check_solver(solver)
    assert found.passed, found.sentence()
