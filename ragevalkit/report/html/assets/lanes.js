/* A turn's rounds on a line of time, a lane each. */

const PART_TITLES = {
  wait: "waiting", reasoning: "reasoning", tool_arguments: "tool arguments", answer: "answer",
  tools: "tools", retries: "retries", harness: "harness",
};

function lanes(body) {
  const rounds = body.rounds.length;
  const lane = (round) => body.bars.filter((bar) => bar[0] === round);
  return make("div", { class: "lanes" },
    Array.from({ length: rounds }, (_, at) => [
      make("span", { class: "lane" }, `round ${at + 1}`),
      drawnLane(lane(at + 1), body.wall_ms, at + 1),
    ]),
    make("span", { class: "lane" }), make("p", { class: "axis" }, make("span", {}, "0"), make("span", {}, body.wall)),
    make("ul", { class: "parts" }, body.parts.filter(([, , share]) => share !== "0.0 %").map(
      ([part, took, share]) => make("li", {}, make("i", { class: `swatch part-${part}` }),
        `${PART_TITLES[part] ?? part} ${took} (${share})`))),
  );
}

function drawnLane(bars, wall, round) {
  const drawing = drawn("svg", { class: "lane-bars", width: "100%", height: 20, role: "img" });
  const said = bars.map(([, part, , , took]) => `${PART_TITLES[part] ?? part} ${took}`).join(", ");
  drawing.setAttribute("aria-label", `round ${round}: ${said || "nothing came"}`);
  for (const [, part, begin, end, took] of bars) {
    const left = (100 * begin) / (wall || 1);
    const width = Math.max(0.15, (100 * (end - begin)) / (wall || 1));
    const bar = drawn("rect", { class: `part-${part}`, x: `${left}%`, width: `${width}%`, y: 2, height: 16 });
    const title = drawn("title", {});
    title.textContent = `${PART_TITLES[part] ?? part}: ${took}`;
    bar.append(title);
    drawing.append(bar);
  }
  return drawing;
}

function drawn(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
