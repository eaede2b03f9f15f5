"""Check a built site offline: links lead to pages and anchors, pictures have words, words a page.

    python docs/check_site.py docs/_build/html

Prints each link that leads nowhere, each picture whose alternative text is missing or names a
file, and each word of ``FIRST`` for which the site's search shows another page first. Exits with 1
if there is any. Links to other sites are left alone.
"""

import json
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FIRST = {
    "xgboost": "trees",
    "gurobi": "solvers",
    "counterfactu": "smallest",
    "proof": "certificates",
}
"""Words, as the search stems them, and the page that has to have each in a heading."""


@dataclass
class Page(HTMLParser):
    """The anchors, links and pictures of a page."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    pictures: list[dict[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to, and what refers to it."""
        held = dict(attrs)
        self.anchors |= {name for key in ("id", "name") if (name := held.get(key))}
        if tag in {"a", "link"} and (link := held.get("href")):
            self.links.append(link)
        if tag in {"img", "script"} and (source := held.get("src")):
            self.links.append(source)
        if tag == "img":
            self.pictures.append(held)


def faults(site: Path) -> list[str]:
    """Return a line for each link of ``site`` that leads nowhere and each picture without words."""
    pages = {
        path.resolve(): Page(path)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: the link {link!r} leads nowhere" for link in _dead(page, pages, site)]
        for picture in page.pictures:
            words = (picture.get("alt") or "").strip()
            if not words or "/" in words or words.endswith((".png", ".svg")):
                found.append(f"{name}: the picture {picture.get('src')!r} has no alternative text")
    return found + _lost(site / "searchindex.js")


def _lost(index: Path) -> list[str]:
    """Return a line for each word of ``FIRST`` that no heading of its page has."""
    text = index.read_text(encoding="utf-8")
    held = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    found = []
    for word, page in FIRST.items():
        places = held["titleterms"].get(word, [])
        listed = [places] if isinstance(places, int) else places
        if page not in [held["docnames"][place] for place in listed]:
            found.append(f"searchindex.js: {word!r} is in no heading of the page {page!r}")
    return found


def _dead(page: Page, pages: dict[Path, Page], site: Path) -> list[str]:
    dead = []
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        start = site if parts.path.startswith("/") else page.path.parent
        target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else page.path
        target = target / "index.html" if target.is_dir() else target.resolve()
        anchor = unquote(parts.fragment)
        held = pages.get(target)
        if not target.is_file() or (anchor and held and anchor not in held.anchors):
            dead.append(link)
    return dead


if __name__ == "__main__":
    sys.exit("\n".join(faults(Path(sys.argv[1]))) or 0)
