"""A real browser without a window: Chromium, driven by Selenium."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = "no browser is here: it takes chromium, chromedriver and selenium"
_OPTIONS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"),
    *("disable-background-networking", "disable-component-update", "disable-dev-shm-usage"),
)

CONTRASTS = """
const channels = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92
    : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const found = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || element.closest("script, title, option")) continue;
  let ground = element;
  while (ground.parentElement && channels(getComputedStyle(ground).backgroundColor)[3] === 0)
    ground = ground.parentElement;
  const style = getComputedStyle(element);
  const colour = element.closest("svg") ? style.fill : style.color;
  const shades = [colour, getComputedStyle(ground).backgroundColor].map((c) => light(channels(c)));
  found.push([(Math.max(...shades) + 0.05) / (Math.min(...shades) + 0.05), texts.currentNode.data]);
}
return found;
"""
"""Script that returns the contrast of each text with what is behind it, and the text."""


def why_not() -> str | None:
    """Return why there is no browser to use here, or None."""
    here = any(map(shutil.which, BROWSERS)) and shutil.which("chromedriver")
    return None if here and find_spec("selenium") else NO_BROWSER


@contextmanager
def browser(folder: Path, *, javascript: bool) -> Iterator["Chrome"]:
    """Open a browser with a profile of its own in ``folder``; it closes in the end."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    for option in (*_OPTIONS, f"user-data-dir={folder}"):
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))
    try:
        driver.get("about:blank")  # the browser's own first page has scripts, too
        driver.get_log("browser")
        if not javascript:
            driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        yield driver
    finally:
        driver.quit()


def show(driver: "Chrome", page: Path, width: int, *, dark: bool = False) -> None:
    """Load ``page`` in a window of that width, in a light or dark system."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(page.as_uri())


def content_width(driver: "Chrome", most: int) -> int:
    """Return the width of the page's content, in the pixels of its style sheet.

    A page takes a moment to be laid out: one wider than ``most`` is measured again for 5 seconds.
    """
    end = time.monotonic() + 5
    while True:
        metrics: dict[str, Any] = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})
        width = round(metrics["cssContentSize"]["width"])
        if width <= most or time.monotonic() > end:
            return width
        time.sleep(0.1)


def named(driver: "Chrome") -> list[tuple[str, str]]:
    """Return the role and the name of everything that assistive software is told of."""
    tree: dict[str, Any] = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
    return [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in tree["nodes"]
        if not node["ignored"]
    ]


def requested(driver: "Chrome", page: Path) -> list[str]:
    """Return the addresses that ``page`` requested since the last call; the first is its own."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        and event["params"]["documentURL"].startswith(page.as_uri())
    ]
