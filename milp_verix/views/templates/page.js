// Sorting and opening: everything can be read without.
(() => {
  const opened = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", opened);
  opened();

  // By the first number behind the same words, such as "Input 12" and "ε = 0.05"; else as words.
  const split = (text) => text.replaceAll("−", "-").match(/^([^\d-]*)(-?\d[\d.]*(?:e[-+]?\d+)?)/) || ["", text, ""];
  const compared = (a, b) => {
    const [, words, number] = split(a), [, others, other] = split(b);
    if (words === others && number && other) return number - other;
    return !number - !other || a.localeCompare(b);
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (up ? 1 : -1) * compared(a.cells[column].textContent, b.cells[column].textContent));
        table.tBodies[0].append(...rows);
      });
    });
  }

  for (const gallery of document.querySelectorAll(".gallery")) {
    const pages = [...gallery.querySelectorAll(".cards")];
    const sizes = pages.map((page) => page.children.length);
    const cards = pages.flatMap((page) => [...page.children]);
    if (cards.length < 2) continue;
    const tools = document.createElement("div");
    tools.className = "tools";
    const choice = (text, options, chosen) => {
      const label = document.createElement("label"), select = document.createElement("select");
      for (const [value, name] of options) select.add(new Option(name, value));
      label.append(text + " ", select);
      select.addEventListener("change", () => chosen(select.value));
      tools.append(label);
      return select;
    };
    const arranged = (wanted) => {
      const [name, direction] = wanted.split(" ");
      const sorted = [...cards];
      if (name) sorted.sort((a, b) => (direction === "down" ? -1 : 1) * compared(a.dataset[name] || "", b.dataset[name] || ""));
      let at = 0;
      pages.forEach((page, i) => page.replaceChildren(...sorted.slice(at, (at += sizes[i]))));
    };
    choice("Sort by", [["", "input"], ["size", "size, smallest first"], ["size down", "size, largest first"],
      ["seconds", "time, fastest first"], ["seconds down", "time, slowest first"], ["prediction", "prediction"],
      ["status", "status"]], arranged);
    const values = [...new Set(cards.map((card) => card.dataset.prediction))].sort(compared);
    if (values.length > 1 && values.length < 200)
      choice("Prediction", [["", "all"], ...values.map((v) => [v, v])], (wanted) => {
        for (const card of cards) card.hidden = wanted !== "" && card.dataset.prediction !== wanted;
      });
    gallery.prepend(tools);
  }
})();
