// What every part of the page's script uses: the data, the state, numbers as words, elements.
const TIE = 1e-9;
const byId = (id) => document.getElementById(id);
const collator = new Intl.Collator("en", { numeric: true });
const state = { metric: 0, candidate: 1, show: "all", search: "", column: "difference", rising: true, page: 0, chosen: null };
let data;

/* Four decimals as Python writes them: odd multiples of 1/32 lie exactly between two numbers, and go to the even one. */
function decimals(size) {
  if ((size * 32) % 2 !== 1) return size.toFixed(4);
  const below = Math.floor(size * 1e4);
  return ((below + (below % 2)) / 1e4).toFixed(4);
}
const plain = (value) => (value === null ? "–" : (value < 0 ? "-" : "") + decimals(Math.abs(value)));
const signed = (value) => (value === null ? "–" : (value < 0 ? "-" : "+") + decimals(Math.abs(value)));
const PLURALS = { query: "queries", loss: "losses" };
const counted = (count, word) => `${count.toLocaleString("en")} ${count === 1 ? word : PLURALS[word] || `${word}s`}`;
const outcomeOf = (difference) => (Math.abs(difference) <= TIE ? "tie" : difference > 0 ? "win" : "loss");

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/* The text that stands packed in an element of the page. */
async function unpacked(id) {
  const text = byId(id).textContent;
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const names = () => ({
  metric: data.metrics[state.metric],
  candidate: data.systems[state.candidate] || "–",
  baseline: data.systems[data.baseline],
});

/* Queries that both systems are scored on. */
function pairs() {
  const columns = data.values[state.metric];
  const found = [];
  for (let index = 0; index < data.queries.id.length; index++) {
    const baseline = columns[data.baseline][index];
    const candidate = columns[state.candidate] ? columns[state.candidate][index] : null;
    const both = baseline !== null && candidate !== null;
    const difference = both ? candidate - baseline : null;
    found.push({
      index, baseline, candidate, difference,
      id: data.queries.id[index], text: data.queries.text[index] || "",
      outcome: both ? outcomeOf(difference) : null,
    });
  }
  return found;
}
