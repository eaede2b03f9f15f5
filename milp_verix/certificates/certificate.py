"""A certificate: the content of a file that ``verix-check`` checks."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milp_verix.base.comparable import Compared
from milp_verix.base.errors import InputError
from milp_verix.base.files import write_atomically
from milp_verix.base.number_text import counted


@dataclass(frozen=True, slots=True, eq=False)
class Certificate(Compared):
    """A proof of an explanation that ``verix-check`` checks, or why there is none.

    ``data`` is the content of the file, None without a proof; then ``reason`` says why. ``needed``
    are the features that a point shows to be needed in exact arithmetic, ``unproven`` the other
    features of the explanation. ``bound`` is a cost that no explanation is below, an integer or the
    text of a ratio; None if nobody asked for the minimum, or it has no proof. ``seconds`` is the
    time it took. One that ``refutes`` a set has a point where the prediction changes, while the
    features of the set stay. ``about`` is "no_part" or "importance" in a
    certificate of such a result. ``model`` is the file that a certificate of trees is about.
    """

    data: Mapping[str, Any] | None
    reason: str | None
    needed: tuple[int, ...] = ()
    unproven: tuple[int, ...] = ()
    bound: int | str | None = None
    seconds: float = 0.0
    refutes: bool = False
    about: str | None = None
    model: bytes | None = None

    @property
    def model_name(self) -> str | None:
        """The name of the file of trees, which is written beside the certificate."""
        if self.model is None:
            return None
        return f"trees-{hashlib.sha256(self.model).hexdigest()[:16]}.json"

    @property
    def proven(self) -> bool:
        """True if there is a proof."""
        return self.data is not None

    def __str__(self) -> str:
        if self.data is None:
            return f"no certificate: {self.reason}"
        if self.refutes:
            return "certificate: the set does not keep the prediction"
        if self.about == "no_part":
            told = self.data["claim"]["no_part"]
            return f"certificate: features {told} play no part in any minimal explanation"
        if self.about == "importance":
            told = "the brackets" if self.data["claim"]["importance"] else "the sets below brackets"
            return f"certificate: {told} of importance"
        whole = len(self.needed) + len(self.unproven)
        shown = f"{len(self.needed)} of {counted(whole, 'feature')} {'is' if whole == 1 else 'are'}"
        text = f"certificate: the prediction is kept, and {shown} shown to be needed"
        if self.bound is not None:
            text += f"; no explanation costs less than {self.bound}"
        return "; ".join([text, *self.data.get("notes", ())])

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the content of the file, and write it to ``path`` if given.

        The file of trees is written beside it, as ``model_name``.
        Raises ``InputError`` if there is no proof, and for a path that cannot be written.
        """
        if self.data is None:
            raise InputError(f"there is no certificate to write: {self.reason}")
        text = json.dumps(self.data, separators=(",", ":"))
        if path is not None:
            write_atomically(Path(path), text)
            if self.model is not None:
                write_atomically(Path(path).parent / str(self.model_name), self.model.decode())
        return text
