/* Puts table, filters and turns together, and follows the address. */

const section = document.getElementById("turns");
if (section) {
  start().catch((error) => section.append(
    make("p", { class: "note" }, `This browser can't unpack the turns (${error.message}).`)));
}

async function start() {
  const index = await island("turns-index");
  const rows = readRows(index);
  const dialog = document.getElementById("turn");
  const table = buildTable(document.getElementById("rows"), index, rows);
  const filters = buildFilters(document.getElementById("filters"), index, rows, (wanted) => {
    history.replaceState(null, "", filterAddress(wanted));
    apply(wanted);
  });
  document.getElementById("first-turns").hidden = true;
  linkCharts();
  linkTables(index);
  linkQuestions(rows);
  let wanted = {};
  let words = null;

  async function apply(now) {
    wanted = now;
    if (wanted.text) await readWords();
    if (wanted !== now) return; // another filter came meanwhile
    filters.set(wanted);
    const found = filtered(rows, wanted, words);
    filters.say(`${found.length.toLocaleString("en")} of ${counted(rows.length, index.arms.length > 1 ? "pair" : "turn")}`);
    table.show(found);
    document.documentElement.dataset.shown = found.length;
  }

  /** The texts that the filter reads, in small letters; fetched before somebody types. */
  async function readWords() {
    words ??= (await island("turns-words")).map((text) => text.toLowerCase());
  }

  async function open({ id, repeat }) {
    const row = rows.find((of) => of.id === id && of.repeat === repeat);
    if (!row) {
      filters.say(`there is no turn ${id}, repeat ${repeat}, in this file`);
      return section.scrollIntoView();
    }
    const at = table.shown.indexOf(row);
    const around = { before: table.shown[at - 1], next: at < 0 ? undefined : table.shown[at + 1] };
    const title = await fillTurn(dialog, index, row, around);
    if (!dialog.open) dialog.showModal();
    title.focus();
  }

  async function follow() {
    const address = readAddress(location.hash);
    if (address.turn) return open(address.turn);
    if (dialog.open) dialog.close();
    if (address.wanted) {
      await apply(address.wanted);
      section.scrollIntoView();
    }
  }

  dialog.addEventListener("close", () => {
    if (dialog.open) return; // it was opened again, for the printer
    if (readAddress(location.hash).turn) history.replaceState(null, "", filterAddress(wanted));
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: "Turn before", ArrowRight: "Next turn" }[event.key];
    if (to && !event.altKey && !event.ctrlKey && !event.metaKey) {
      dialog.querySelector(`a[href][aria-label="${to}"]`)?.click();
    }
  });
  window.addEventListener("hashchange", follow);
  // what lies above the page is cut off on paper
  const opened = (how) => { if (dialog.open) { dialog.close(); dialog[how](); } };
  window.addEventListener("beforeprint", () => opened("show"));
  window.addEventListener("afterprint", () => opened("showModal"));
  await apply({});
  await follow();
  document.documentElement.dataset.ready = "yes";
  setTimeout(readWords, 100);
}

/** In the tables above, the names of metrics, defects and outcomes lead to their turns. */
function linkTables(index) {
  const kinds = [["defect", Object.keys(index.defects)], ["metric", Object.keys(index.metrics)]];
  const names = new Map(kinds.flatMap(([key, of]) => of.map((name) => [name, key])));
  for (const head of document.querySelectorAll("main > section tbody th")) {
    const name = head.textContent.replace(/ ↓$/, "");
    const row = head.parentElement;
    const columns = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent);
    if (names.has(name)) {
      linked(head, { [names.get(name)]: name });
    } else if (columns[0] === "outcome" && index.outcomes.includes(name)) {
      linked(head, { outcome: name });
      columns.forEach((column, at) => {
        const answerable = { answerable: "1", unanswerable: "0" }[column];
        if (answerable && row.cells[at].textContent !== "0") linked(row.cells[at], { outcome: name, answerable });
      });
    }
  }
}

/** The titles of questions that came out differently lead to their turns. */
function linkQuestions(rows) {
  for (const title of document.querySelectorAll("#flipped h3")) {
    const row = rows.find(({ id, repeat }) =>
      title.textContent.startsWith(`${id}${repeat ? `, repeat ${repeat}` : ""}: `));
    if (row) title.replaceChildren(make("a", { href: turnAddress(row) }, title.textContent));
  }
}

/** The marks of charts lead to their turns. */
function linkCharts() {
  for (const link of document.querySelectorAll("figure a[data-href]")) {
    link.setAttribute("href", link.dataset.href);
  }
}

function linked(cell, wanted) {
  cell.replaceChildren(make("a", { href: filterAddress(wanted) }, cell.textContent));
}
