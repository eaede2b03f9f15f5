"""Pages in a real browser: narrow and wide, light and dark, with JavaScript and without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from milp_verix import write_report
from tests.support import browser
from tests.support.pages import comparison, image, study, table

pytestmark = pytest.mark.slow

PHONE, DESK = 360, 1280
NAMED = {"link", "button", "image", "img", "combobox", "region", "navigation", "table", "heading"}
KINDS = ("study", "result", "comparison")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the pages of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    results = [image(index % 5, prediction=index % 3) for index in range(54)]
    journal = study(folder, *results, table(3, prediction=9), None)
    sources = {"study": journal, "result": table(4), "comparison": comparison(folder)}
    for name, source in sources.items():
        write_report(source, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in sources}


def opened(folder: Path, *, javascript: bool) -> Iterator[Any]:
    if reason := browser.why_not():
        pytest.skip(reason)
    with browser.browser(folder, javascript=javascript) as driver:
        yield driver


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open a browser that runs JavaScript."""
    yield from opened(tmp_path_factory.mktemp("scripted"), javascript=True)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open a browser that runs none."""
    yield from opened(tmp_path_factory.mktemp("plain"), javascript=False)


@pytest.fixture(params=["scripted", "plain"])
def driver(request: pytest.FixtureRequest) -> Any:
    """Return a browser of each kind."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [PHONE, 390, DESK])
def test_a_page_fits_names_all_and_asks_for_nothing(
    driver: Any, pages: dict[str, Path], kind: str, width: int
) -> None:
    browser.requested(driver, pages[kind])
    browser.show(driver, pages[kind], width)
    assert browser.content_width(driver, width) <= width
    seen = browser.named(driver)
    assert {"heading", "link", "main"} <= {role for role, _ in seen}
    assert [(role, name) for role, name in seen if role in NAMED and not name] == []
    assert driver.get_log("browser") == []
    asked = browser.requested(driver, pages[kind])
    asked = [address for address in asked if not address.startswith("data:")]
    assert asked == [pages[kind].as_uri()]


def test_a_link_opens_the_page_that_holds_its_card(driver: Any, pages: dict[str, Path]) -> None:
    browser.show(driver, pages["study"], DESK)
    shown = {name for role, name in browser.named(driver) if role == "heading"}
    assert "Input 54: prediction 9" not in shown
    name = f"task-{f'{54:064x}'[:16]}-54"
    driver.get(f"{pages['study'].as_uri()}#{name}")
    shown = {name for role, name in browser.named(driver) if role == "heading"}
    assert "Input 54: prediction 9" in shown


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_stand_out(scripted: Any, pages: dict[str, Path], kind: str, dark: bool) -> None:
    browser.show(scripted, pages[kind], DESK, dark=dark)
    found = scripted.execute_script(browser.CONTRASTS)
    assert len(found) > 50
    assert [one for one in found if one[0] < 4.5] == []


def cards(driver: Any) -> list[str]:
    """Return the headings of the cards that are shown."""
    script = (
        "return [...document.querySelectorAll('details[open] .card:not([hidden]) h3')]"
        ".map((heading) => heading.textContent)"
    )
    found: list[str] = driver.execute_script(script)
    return found


def test_the_gallery_is_sorted_and_filtered(scripted: Any, pages: dict[str, Path]) -> None:
    from selenium.webdriver.support.ui import Select

    browser.show(scripted, pages["study"], DESK)
    order, prediction = (Select(one) for one in scripted.find_elements("css selector", "select"))
    assert cards(scripted)[:2] == ["Input 0: prediction 0", "Input 1: prediction 1"]
    order.select_by_visible_text("time, slowest first")
    assert cards(scripted)[:2] == ["Input 54: prediction 9", "Input 53: prediction 2"]
    assert len(cards(scripted)) == 50
    order.select_by_visible_text("size, smallest first")
    assert cards(scripted)[0] == "Input 54: prediction 9"
    prediction.select_by_visible_text("1")
    assert {name.split()[-1] for name in cards(scripted)} == {"1"}
    order.select_by_visible_text("input")
    prediction.select_by_visible_text("all")
    assert cards(scripted)[:2] == ["Input 0: prediction 0", "Input 1: prediction 1"]


def test_a_table_is_sorted_by_its_headings(scripted: Any, pages: dict[str, Path]) -> None:
    browser.show(scripted, pages["comparison"], DESK)
    column = "return [...document.querySelectorAll('#runs tbody th')].map((one) => one.textContent)"
    assert scripted.execute_script(column) == ["highs", "cbc"]
    button = next(
        one
        for one in scripted.find_elements("css selector", "#runs th button")
        if one.text[:7] == "seconds"
    )
    button.click()
    assert scripted.execute_script(column) == ["highs", "cbc"]
    button.click()
    assert scripted.execute_script(column) == ["cbc", "highs"]
    head = button.find_element("xpath", "..")
    assert head.get_attribute("aria-sort") == "descending"


def test_the_keyboard_sees_where_it_is(scripted: Any, pages: dict[str, Path]) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser.show(scripted, pages["result"], PHONE)
    ActionChains(scripted).send_keys(Keys.TAB).perform()
    focused = scripted.switch_to.active_element
    assert focused.text == "Skip to the content"
    assert focused.value_of_css_property("outline-style") == "solid"
    ActionChains(scripted).send_keys(Keys.ENTER).perform()
    assert scripted.current_url.endswith("#content")
