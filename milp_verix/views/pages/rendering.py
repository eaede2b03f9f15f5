"""Templates filled in: every text that comes from outside is escaped, unseen characters too."""

from functools import cache
from typing import TYPE_CHECKING, Any

from milp_verix.base.errors import printable
from milp_verix.base.number_text import exact, nearest
from milp_verix.base.version import version
from milp_verix.views.figures.parts.outline import MARK
from milp_verix.views.figures.parts.style import FREED, INK, MUTED, Status, typeset
from milp_verix.views.words.wording import counted

if TYPE_CHECKING:
    from jinja2 import Environment


def _shown(value: Any) -> Any:
    return printable(value) if type(value) is str else value


def _with_lines(text: str) -> Any:
    from markupsafe import Markup, escape

    return Markup(escape(printable(text, "\n\t")))


def rendered(template: str, **content: Any) -> str:
    """Return ``template``, a file of the folder ``templates``, with ``content`` in its places.

    A name in the template that ``content`` lacks raises Jinja's ``UndefinedError``.
    """
    return environment().get_template(template).render(**content)


@cache
def environment() -> "Environment":
    """Return the templates; Jinja is loaded with the first one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"counted": counted, "exact": exact, "nearest": nearest, "typeset": typeset}
    found.filters["lines"] = _with_lines
    colours = {status.value: status.colour for status in Status}
    found.globals |= {"colours": {"ink": INK, "muted": MUTED, "mark": MARK, **colours}}
    found.globals |= {"freed": FREED, "version": version()}
    return found
