/* Which turns are shown. */

/** The rows of the index, with names for numbers. */
function readRows(index) {
  const defects = Object.keys(index.defects);
  const metrics = Object.keys(index.metrics);
  return index.rows.map(([id, repeat, answerable, question, tags, flipped, sides, place], number) => ({
    number, id, repeat, question, place,
    answerable: answerable === 1,
    tags: tags.map((tag) => index.tags[tag]),
    flipped: flipped.map((metric) => metrics[metric]),
    sides: sides.map((side) => side && {
      outcome: index.outcomes[side[0]] ?? "unknown",
      defects: side[1] && side[1].map((defect) => defects[defect]),
      badly: side[2].map((metric) => metrics[metric]),
      rounds: side[3], time: side[4], ms: side[5],
    }),
  }));
}

/** The rows that satisfy every field of `wanted`; `words` are the texts of all rows, or null. */
function filtered(rows, wanted, words) {
  const text = folded(wanted.text ?? "");
  return rows.filter((row) => takes(row, wanted) && (!text || words[row.number].includes(text)));
}

function takes(row, wanted) {
  if (wanted.answerable && row.answerable !== (wanted.answerable === "1")) return false;
  if (wanted.tag && !row.tags.includes(wanted.tag)) return false;
  if (wanted.flipped) { // with a metric: those that differ in it
    const of = wanted.flipped === "1" ? wanted.metric : wanted.flipped;
    if (of ? !row.flipped.includes(of) : !row.flipped.length) return false;
  }
  const metric = wanted.flipped ? "" : wanted.metric;
  return row.sides.some((side) => side
    && (!wanted.outcome || side.outcome === wanted.outcome)
    && (!wanted.defect || hasDefect(side, wanted.defect))
    && (!metric || side.badly.includes(metric)));
}

/** A defect by its name; a family stands for all of its defects. */
function hasDefect(side, name) {
  const names = side.defects ?? [];
  if (name === "none") return side.defects !== null && !names.length;
  return name.includes(":") ? names.includes(name) : names.some((of) => of.startsWith(`${name}:`));
}

const folded = (text) => text.toLowerCase().split(/\s+/).filter(Boolean).join(" ");

/** The form above the table; `changed` is called with what is wanted. */
function buildFilters(form, index, rows, changed) {
  const comparing = index.arms.length > 1;
  const count = (values) => countedBy(rows, values);
  const outcomes = count((row) => row.sides.flatMap((side) => side ? [side.outcome] : []));
  const defects = count((row) => row.sides.flatMap((side) => side?.defects ?? []));
  const metrics = count((row) => row.sides.flatMap((side) => side?.badly ?? []));
  const tags = count((row) => row.tags);
  const kinds = count((row) => [row.answerable ? "1" : "0"]);
  const known = (names, counts) => names.filter((name) => counts.has(name));
  const fields = [
    choice("outcome", "Outcome", known(index.outcomes, outcomes).map((n) => [n, n, outcomes.get(n)])),
    choice("defect", "Defect", defectOptions(known(Object.keys(index.defects), defects), defects)),
    choice("metric", comparing ? "Either went badly at" : "Went badly at",
      known(Object.keys(index.metrics), metrics).map((n) => [n, n, metrics.get(n)])),
    choice("tag", "Tag", known(index.tags, tags).map((n) => [n, n, tags.get(n)])),
    choice("answerable", "Questions", [["1", "answerable", kinds.get("1") ?? 0],
      ["0", "unanswerable", kinds.get("0") ?? 0]]),
  ];
  if (comparing) {
    const differing = rows.filter((row) => row.flipped.length).length;
    fields.push(choice("flipped", "Both arms", [["1", "only where they differ", differing]]));
  }
  const text = make("input", { type: "search", name: "text", autocomplete: "off" });
  const shown = make("p", { class: "shown", role: "status" });
  form.append(
    ...fields.filter(Boolean),
    make("label", { class: "field wide" }, make("span", {}, "Words in question or reply"), text),
    make("button", { type: "reset" }, "All turns"),
    shown,
  );
  const read = () => Object.fromEntries(new FormData(form));
  form.addEventListener("input", () => changed(read()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); changed({}); });
  form.hidden = false;
  return {
    set(wanted) {
      for (const key of FILTER_KEYS) {
        const field = form.elements.namedItem(key);
        if (field && field !== document.activeElement) setField(field, wanted[key] ?? "");
      }
    },
    say(text) { shown.textContent = text; },
  };
}

/** An address may ask for a value that no turn has. */
function setField(field, value) {
  field.value = value;
  if (field.value !== value) {
    field.append(make("option", { value }, value));
    field.value = value;
  }
}

function countedBy(rows, values) {
  const counts = new Map();
  for (const row of rows) {
    for (const value of new Set(values(row))) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

function defectOptions(names, counts) {
  const families = [...new Set(names.map((name) => name.split(":")[0]))];
  return families.flatMap((family) => {
    const of = names.filter((name) => name.startsWith(`${family}:`));
    const all = of.length > 1 ? [[family, `${family}: any`, null]] : [];
    return [...all, ...of.map((name) => [name, name, counts.get(name)])];
  }).concat(names.length ? [["none", "none", null]] : []);
}

function choice(name, title, options) {
  if (!options.length) return null;
  const select = make("select", { name }, make("option", { value: "" }, "any"), options.map(
    ([value, label, count]) => make("option", { value },
      count === null ? label : `${label} (${count.toLocaleString("en")})`)));
  return make("label", { class: "field" }, make("span", {}, title), select);
}
