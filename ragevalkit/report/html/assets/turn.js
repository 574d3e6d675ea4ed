/* One turn as a whole, or both arms' turns side by side. */

const said = (text, tag = "p") => make(tag, { class: "said" }, text);

async function fillTurn(dialog, index, row, around) {
  const bodies = await valueAt(row.place);
  const title = make("h2", { id: "turn-title", tabindex: "-1" }, row.id,
    row.repeat ? make("small", {}, ` repeat ${row.repeat}`) : null);
  const step = (to, label, sign) => make("a",
    to ? { href: turnAddress(to), "aria-label": label } : { "aria-disabled": "true", role: "link", "aria-label": label }, sign);
  const bar = make("div", { class: "bar" }, title, make("nav", { "aria-label": "Turns beside this one" },
    step(around.before, "Turn before", "←"), step(around.next, "Next turn", "→")),
    make("button", { type: "button", class: "close", on: { click: () => dialog.close() } }, "Close"));
  const whole = bodies
    ? await Promise.all(bodies.map((body) => body && withResults(body, index)))
    : null;
  dialog.replaceChildren(bar, whole ? turnView(index, row, whole) : missingView(index, row));
  dialog.scrollTop = 0;
  return title;
}

/** The texts of search results, in place of their numbers. */
async function withResults(body, index) {
  for (const round of body.rounds) {
    for (const call of round.calls ?? []) {
      for (const result of call.results ?? []) {
        if (typeof result[3] === "number") result[3] = await valueAt(index.results[result[3]]) ?? "";
      }
    }
  }
  return body;
}

function missingView(index, row) {
  return make("div", { class: "turn" },
    make("p", {}, row.question),
    row.sides.map((side, at) => side && make("p", {},
      `${index.arms[at]}: ${side.outcome}, ${counted(side.rounds, "round")}, ${side.time}; defects: `
      + (side.defects?.join(", ") || "none"))),
    make("p", { class: "note" }, "To keep this file small, this turn isn't in it whole. In a terminal: ",
      index.arms.map((arm) => make("code", {}, `ragevalkit show ${arm} ${row.id}`))));
}

function turnView(index, row, bodies) {
  const one = bodies.find(Boolean);
  const sides = bodies.map((body, at) => sideView(index, body, index.arms[at], row));
  return make("div", { class: "turn" },
    questionView(one.question),
    bodies.length > 1 && row.flipped.length
      ? make("p", { class: "note" }, `The arms differ in ${row.flipped.join(", ")}.`) : null,
    make("div", { class: bodies.length > 1 ? "side-by-side" : "alone" }, sides));
}

function questionView(question) {
  const line = (title, values) => values.length
    ? [make("dt", {}, title), values.map((value) => make("dd", { class: "said" }, value))] : [];
  return make("section", { class: "question" },
    question.history.map(([role, content]) => make("p", { class: "said history" }, `${role}: ${content}`)),
    said(question.text),
    make("dl", {},
      line("Question", [question.answerable ? "answerable" : `unanswerable${question.because ? `: ${question.because}` : ""}`]),
      line("Reference", question.references),
      line("Evidence", question.evidence.map(([page, quote]) => quote ? `${page}: “${quote}”` : page)),
      line("Tags", question.tags.length ? [question.tags.join(", ")] : [])));
}

function sideView(index, body, arm, row) {
  const heading = index.arms.length > 1 ? make("h3", { class: "arm" }, arm) : null;
  if (!body) return make("section", {}, heading, make("p", {}, "This arm has no such turn."));
  return make("section", { class: "side" }, heading,
    make("p", { class: "note" }, body.facts),
    outcomeView(index, body),
    make("h3", {}, "Reply"), body.reply ? said(body.reply) : make("p", { class: "note" }, "nothing"),
    body.citations.length ? citationsView(body.citations) : make("p", { class: "note" }, "Nothing was cited, and there is no evidence."),
    make("h3", {}, "Rounds"), lanes(body),
    body.rounds.map((round, at) => roundView(round, at + 1)),
    body.metrics.length ? scoresView(index, body.metrics) : null);
}

function outcomeView(index, body) {
  return make("div", { class: "came-to" },
    make("p", {}, outcomeMark(body.outcome), `, ${body.ended}`),
    body.defects.length
      ? make("ul", { class: "defects" }, body.defects.map((name) => make("li", {},
        make("strong", {}, name), ` ${index.defects[name] ?? "unknown to this version"}`)))
      : body.scored ? make("p", {}, "no defects") : null,
    body.remarks.map((remark) => make("p", { class: "note" }, remark)));
}

function roundView(round, number) {
  return make("section", { class: "round" },
    make("h4", {}, `Round ${number}: ${round.state}`),
    round.facts.map((fact) => make("p", { class: "note" }, fact)),
    round.attempts ? make("ul", { class: "note" }, round.attempts.map((of) => make("li", {}, of))) : null,
    round.reasoning ? reasoningView(round.reasoning) : null,
    round.content ? [make("h5", {}, "Content"), said(round.content)] : null,
    (round.calls ?? []).map(callView));
}

/** Folded; the whole is fetched when somebody opens it. */
function reasoningView([head, tail, between, place]) {
  const text = make("p", { class: "said" }, head);
  const details = make("details", {}, make("summary", {}, "Reasoning"), text);
  if (!between) return details;
  text.append(make("span", { class: "cut" }, ` … ${between} characters left out … `), tail);
  details.addEventListener("toggle", async () => {
    const whole = details.open ? await valueAt(place) : null;
    if (whole !== null) text.replaceChildren(whole);
  }, { once: true });
  return details;
}

function callView(call, at) {
  return make("section", { class: "call" },
    make("h5", {}, `Call ${at + 1}: ${call.title}`,
      call.faults.map((fault) => make("mark", { class: "fault" }, fault))),
    make("pre", { class: "said", "aria-label": "raw arguments" }, call.arguments || "no arguments"),
    call.results ? resultsView(call.results)
      : call.result === null ? make("p", { class: "note" }, "no result: the turn ended before it")
        : make("pre", { class: "said", "aria-label": "result" }, call.result));
}

function resultsView(results) {
  if (!results.length) return make("p", { class: "note" }, "no results");
  return make("ol", { class: "results" }, results.map(([page, evidence, cited, text]) => make("li",
    { class: evidence ? "evidence" : null },
    make("details", {}, make("summary", {}, page,
      evidence ? make("mark", { class: "is-evidence" }, "evidence") : null,
      cited ? make("mark", { class: "is-cited" }, "cited") : null),
    said(text)))));
}

function citationsView(rows) {
  const heads = ["page", "cited", "evidence", "defect", "returned by a search", "quote"];
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Citations beside evidence" },
    make("table", { class: "citations" }, make("caption", {}, "Citations beside evidence"),
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col", class: "text" }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, at) =>
        make(at ? "td" : "th", { class: "text said", scope: at ? null : "row" }, cell)))))));
}

function scoresView(index, metrics) {
  return make("details", { class: "scores" }, make("summary", {}, "Scores"),
    make("ul", {}, metrics.map(([name, value, badly]) => make("li", { class: badly ? "badly" : null },
      make("strong", {}, `${name}: ${value}${badly ? " ✗" : ""}`), ` ${index.metrics[name]?.[0] ?? ""}`))));
}
