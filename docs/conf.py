"""The documentation site: Sphinx with MyST; ``make docs`` builds it into ``docs/_build/html``.

Sphinx was chosen over MkDocs because it links every name in the text to the API, resolves the
roles in docstrings, and fails on a broken reference. The theme is that of NumPy and pandas, which
readers know.
"""

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT), str(ROOT / "encodings")]

import numpy as np  # noqa: E402
from command_line_page import command_line_page  # noqa: E402
from schema_tables import schema_tables  # noqa: E402

import milp_verix  # noqa: E402

project = "milp-verix"
author = "the milp-verix authors"
project_copyright = author
release = version = milp_verix.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "made/examples", "made/schema_tables.md", "made/command_line.md"]
suppress_warnings = ["mystnb.unknown_mime_type"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_render_markdown_format = "gfm"  # tables that cells return
# shown as they are: a notebook where PyTorch, which takes gigabytes, is missing, and a page where
# the public data and networks are
nb_execution_excludepatterns = [
    *([] if importlib.util.find_spec("torch") else ["*pytorch.ipynb"]),
    *([] if (ROOT.parent / "shared" / "data").is_dir() else ["*gallery_data.md"]),
]

autodoc_typehints = "none"  # signatures and "Args" have them
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
napoleon_use_rtype = False

html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "milp-verix"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
_WIDE = ("index", "start", "comparison", "gallery*", "made/tutorials/*")
html_sidebars: dict[str, list[str]] = {page: [] for page in _WIDE}


def explain_digit(picture: Path) -> None:
    """Write the picture of the first example."""
    image = np.load(ROOT / "examples" / "digits.npz")["images"][0]
    milp_verix.explain(ROOT / "examples" / "digits.onnx", image, epsilon=0.1).plot(picture)


def _made_pages() -> None:
    """Write all that is made at build time: a picture, notebooks, the command line."""
    made = DOCS / "made"
    shutil.rmtree(made, ignore_errors=True)
    (made / "tutorials").mkdir(parents=True)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(notebook, made / "tutorials")
    # where the notebooks, whose working directory is their own, look for them
    (made / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    explain_digit(made / "explanation.png")
    (made / "command_line.md").write_text(command_line_page(), encoding="utf-8")
    (made / "schema_tables.md").write_text(schema_tables(), encoding="utf-8")


_made_pages()
