/* The table of turns, a window of rows at a time. */

const WINDOW = 50;

/** Columns: head, cell of a row, by what it is ordered (null: not at all), and whether the largest
    come first. */
function columnsOf(index, rows) {
  const one = index.arms.length === 1;
  const repeated = rows.some((row) => row.repeat > 0);
  const columns = [
    ["question", (row) => make("a", { href: turnAddress(row) }, row.id), (row) => row.number],
  ];
  if (repeated) columns.push(["repeat", (row) => String(row.repeat), (row) => row.repeat]);
  columns.push(["", (row) => row.answerable ? "answerable" : "unanswerable", (row) => row.answerable]);
  index.arms.forEach((arm, at) => columns.push([
    one ? "outcome" : `${"ab"[at]}: ${arm}`,
    (row) => outcomeMark(row.sides[at]?.outcome ?? "not asked"),
    (row) => row.sides[at]?.outcome ?? "",
  ]));
  if (one) {
    columns.push(
      ["defects", (row) => row.sides[0].defects?.join(", ") ?? "not scored",
        (row) => row.sides[0].defects?.length ?? 99, true],
      ["rounds", (row) => String(row.sides[0].rounds), (row) => row.sides[0].rounds, true],
      ["time", (row) => row.sides[0].time, (row) => row.sides[0].ms, true],
    );
  } else {
    columns.push(["differs in", (row) => row.flipped.join(", "), (row) => row.flipped.length, true]);
  }
  columns.push(["asked", (row) => row.question, null]);
  return columns;
}

const NUMBERS = ["repeat", "rounds", "time"];

function outcomeMark(outcome) {
  return make("span", { class: `outcome ${outcome}` }, outcome);
}

function buildTable(box, index, rows) {
  const columns = columnsOf(index, rows);
  const body = make("tbody");
  const place = make("span", { class: "place" });
  const back = make("button", { type: "button", on: { click: () => move(-WINDOW) } }, "← before");
  const on = make("button", { type: "button", on: { click: () => move(WINDOW) } }, "next →");
  const heads = columns.map(([title, , by]) => make("th",
    { scope: "col", class: NUMBERS.includes(title) ? null : "text" },
    by && title ? make("button", { type: "button", on: { click: () => order(title) } }, title) : title || "answerable?"));
  box.append(
    make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Turns" },
      make("table", { class: "turns" }, make("thead", {}, make("tr", {}, heads)), body)),
    make("div", { class: "pager" }, back, place, on),
  );
  box.hidden = false;
  let found = rows, shown = rows, first = 0, ordered = "", turned = 1;

  function draw() {
    const some = shown.slice(first, first + WINDOW);
    body.replaceChildren(...some.map((row) => make("tr", {}, columns.map(([title, cell], at) =>
      at === 0 ? make("th", { scope: "row", class: "text" }, cell(row))
        : make("td", { class: NUMBERS.includes(title) ? null : "text" }, cell(row))))));
    if (!some.length) body.append(make("tr", {}, make("td", { colspan: columns.length }, "No turn is like that.")));
    place.textContent = some.length ? `${first + 1} to ${first + some.length} of ${shown.length.toLocaleString("en")}` : "";
    back.disabled = first === 0;
    on.disabled = first + WINDOW >= shown.length;
    box.lastElementChild.hidden = shown.length <= WINDOW;
  }
  function move(by) { first = Math.max(0, first + by); draw(); }
  function order(title) {
    const largest = columns.find(([of]) => of === title)[3];
    turned = ordered === title ? -turned : largest ? -1 : 1;
    ordered = title;
    heads.forEach((head, at) => {
      if (columns[at][0] !== title) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", turned === 1 ? "ascending" : "descending");
    });
    arrange();
  }
  function arrange() {
    const by = columns.find(([title]) => title === ordered)?.[2];
    shown = by ? [...found].sort((a, b) => turned * compared(by(a), by(b)) || a.number - b.number) : found;
    first = 0;
    draw();
  }
  return {
    show(rows) { found = rows; arrange(); },
    get shown() { return shown; },
  };
}

const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
