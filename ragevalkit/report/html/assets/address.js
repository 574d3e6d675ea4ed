/* Addresses inside the page: #turns?outcome=decline&answerable=0 and #turn=ID~REPEAT. */

const FILTER_KEYS = ["outcome", "defect", "tag", "metric", "answerable", "flipped", "text"];

/** What an address asks for: {turn: {id, repeat}}, {wanted: {key: value}}, or {}. */
function readAddress(hash) {
  if (hash.startsWith("#turn=")) {
    const end = hash.lastIndexOf("~");
    if (end < 0) return { turn: { id: decoded(hash.slice(6)), repeat: 0 } };
    return { turn: { id: decoded(hash.slice(6, end)), repeat: Number(hash.slice(end + 1)) } };
  }
  if (hash === "#turns" || hash.startsWith("#turns?")) {
    const wanted = {};
    for (const pair of hash.slice(7).split("&")) {
      const equals = pair.indexOf("=");
      const key = pair.slice(0, equals);
      const value = decoded(pair.slice(equals + 1));
      if (equals > 0 && FILTER_KEYS.includes(key) && value) wanted[key] = value;
    }
    return { wanted };
  }
  return {};
}

function filterAddress(wanted) {
  const pairs = FILTER_KEYS.filter((key) => wanted[key]);
  const written = pairs.map((key) => `${key}=${encodeURIComponent(wanted[key])}`);
  return `#turns${written.length ? "?" : ""}${written.join("&")}`;
}

function turnAddress(row) {
  return `#turn=${encodeURIComponent(row.id)}~${row.repeat}`;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
