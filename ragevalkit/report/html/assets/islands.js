/* Data that lies in the page, deflated and in base64; read when it is asked for. */

const CACHED_ISLANDS = 12;
const islandCache = new Map();

/** The JSON of an island, or null where the page doesn't hold it. */
function island(id) {
  if (!islandCache.has(id)) {
    const element = document.getElementById(id);
    islandCache.set(id, element ? inflated(element.textContent) : Promise.resolve(null));
    if (islandCache.size > CACHED_ISLANDS) islandCache.delete(islandCache.keys().next().value);
  }
  return islandCache.get(id);
}

/** One value of an island by its place, or null. */
async function valueAt(place) {
  const values = place ? await island(place[0]) : null;
  return values?.[place[1]] ?? null;
}

async function inflated(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

/** An element with attributes; children are elements, or strings that become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
