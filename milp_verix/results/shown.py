"""Methods that results have: words, JSON, pictures, certificates, ranges.

Words, pictures, pages, certificates and calls stand in packages above that of results, and this is
the only module that reaches up there, and to higher modules of results. A method loads what does
its work when it is called: Matplotlib, Rich and onnxruntime take longer to load than a result to be
read.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from milp_verix.base.arguments import INTEGER, PATH, checked
from milp_verix.base.comparable import Answering
from milp_verix.base.errors import printable
from milp_verix.base.files import written

if TYPE_CHECKING:
    from rich.table import Table

    from milp_verix.certificates.certificate import Certificate
    from milp_verix.models.loaded_model import LoadedModel
    from milp_verix.results import build, comparison_files
    from milp_verix.results.json_format import StoredResult
    from milp_verix.results.ranges import Ranges
    from milp_verix.views import (
        audit_words,
        explanation_words,
        facts,
        plot,
        ranges_words,
        result_page,
        sentences,
        text_tables,
    )
    from milp_verix.views.style import Drawing
else:

    def __getattr__(name: str) -> Any:
        """Return a module of views or results, which is loaded when it is first asked for."""
        if name not in __all__:
            raise AttributeError(name)
        own = name in ("build", "comparison_files")
        return import_module(f"milp_verix.{'results' if own else 'views'}.{name}")


__all__ = ["Certified", "Drawn", "Stated", "audit_words", "build", "comparison_files"]
__all__ += ["explanation_words", "facts", "inflated", "plot", "ranges_words", "result_page"]
__all__ += ["sentences", "text_tables"]


def inflated(network: "LoadedModel", explanation: Any, question: dict[str, Any]) -> "Ranges":
    """Return the ranges of an explanation, by the public call."""
    calls = import_module("milp_verix.api.calls")
    found: Ranges = calls.inflate(network, explanation.input, explanation, **question)
    return found


class Stated(Answering):
    """A result in words and in JSON, which is pickled as its JSON."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` is the same in JSON, with its seconds and versions."""
        if not isinstance(other, Stated):
            return NotImplemented
        return bool(json.loads(self.to_json()) == json.loads(other.to_json()))

    def __hash__(self) -> int:
        return hash(type(self))

    def sentence(self) -> str:
        """Return the claim in words, and how far it is proven."""
        from milp_verix.views.result_words import sentence

        return sentence(cast("StoredResult", self))

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        from milp_verix.views.result_words import facts_of
        from milp_verix.views.text_tables import table_of

        return table_of(facts_of(cast("StoredResult", self)))

    @checked(path=PATH.or_none(), indent=INTEGER.or_none())
    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the result as JSON, and write it to ``path`` if given.

        Raises ``InputError`` for a path that cannot be written.
        """
        from milp_verix.results.json_format import dump

        text = dump(cast("StoredResult", self), indent=indent)
        return written(text, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a result from JSON text or from the path of a JSON file.

        Raises ``InputError`` for JSON of another kind or schema, and where parts contradict.
        """
        from milp_verix.results.json_format import load

        return cast(Self, load(source, cast("type[StoredResult]", cls)))

    def __reduce__(self) -> tuple[Any, ...]:
        # read-only mappings cannot be pickled or copied; the JSON holds all there is, bit for bit
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        from milp_verix.views.result_words import title

        result = cast(Any, self)
        about = getattr(result, "levels", [result])[0]
        return printable(f"{type(self).__name__}({about.model.file}: {title(result)})")


class Drawn(Stated):
    """A result with a picture, which notebooks show with its facts."""

    __slots__ = ()

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the result and return the figure; write it to ``path`` if given.

        An input is an image if its shape is (height, width), with 1, 3 or 4 channels first or last,
        behind a batch dimension or not. ``image_shape``, such as (28, 28) or (3, 32, 32), is the
        shape of an image in an input of another shape. The suffix of ``path`` chooses the format.
        The figure belongs to no window: nothing is shown, and nothing is kept.

        Raises ``InputError`` for an ``image_shape`` that does not fit the input, a suffix that
        names no format that there is, and a file that cannot be written.
        """
        from milp_verix.views.plot import plot

        return plot(cast("StoredResult", self), path, image_shape=image_shape)

    def _repr_html_(self) -> str:
        from milp_verix.views.result_page import result_html

        return result_html(cast("StoredResult", self), self.plot())


class Certified(Stated):
    """A result whose claim can be proven to a program without a solver."""

    __slots__ = ()

    def certify(self, network: "LoadedModel", *, time_limit: float | None = None) -> "Certificate":
        """Return a proof that needs neither a solver nor trust: see :func:`milp_verix.certify`."""
        from milp_verix.certificates.certify import certify

        return certify(network, cast(Any, self), time_limit=time_limit)
