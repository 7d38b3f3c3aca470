// Figures: their rows and captions, drawn by Vega.
const span = (group, name) => group.reduce((sum, row) => sum + row[name], 0) / group.length;

function merged(group) {
  const alone = group.length === 1;
  return {
    query: alone ? group[0].id : `mean of ${group.length} queries`, text: alone ? group[0].text : "",
    place: alone ? group[0].place : null, outcome: group[0].outcome, count: group.length,
    baseline: span(group, "baseline"), candidate: span(group, "candidate"), difference: span(group, "difference"),
  };
}

function bars(rows) {
  const size = rows.length > data.limits.full ? Math.ceil(rows.length / data.limits.groups) : 1;
  const found = [];
  for (let start = 0; start < rows.length;) {
    let end = start + 1;
    while (end < rows.length && end < start + size && rows[end].outcome === rows[start].outcome) end++;
    found.push({ ...merged(rows.slice(start, end)), from: start, to: end });
    start = end;
  }
  return found;
}

function points(rows) {
  const ends = rows.flatMap((row) => [row.baseline, row.candidate]);
  const least = ends.reduce((a, b) => Math.min(a, b), Infinity);
  const most = ends.reduce((a, b) => Math.max(a, b), -Infinity);
  const step = (most - least) / data.limits.cells || 1;
  const groups = new Map();
  for (const row of rows) {
    const cell = [Math.floor((row.baseline - least) / step), Math.floor((row.candidate - least) / step), row.outcome];
    const key = rows.length > data.limits.full ? cell.join() : row.place;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return [...groups.values()].map((group) => ({ ...merged(group), least, most }));
}

const thinned = (count, how, otherwise) =>
  count > data.limits.full ? ` More than ${data.limits.full.toLocaleString("en")} queries: ${how}.` : ` ${otherwise}`;

const figures = {
  intervals(words) {
    const rows = data.comparisons;
    const units = [...new Set(rows.map((row) => row.unit))];
    const told = rows.map((row) => `${row.candidate}, ${row.metric}: ${signed(row.difference)} ${row.interval}, ${row.verdict}`);
    const band = rows.some((row) => row.delta !== null) ? " Grey band: the smallest effect that matters." : "";
    const wide = rows.some((row) => row.bound_low !== null) ? " Wide and pale: where grades of unjudged documents could bring it." : "";
    const caption = `Triangle up: improved; down: regressed or, of a guardrail, may be worse; circle: neither.${band}${wide}`;
    const numbers = `${told.join(". ")}.`;
    return { numbers, parts: units.map((unit) => ({ rows: rows.filter((row) => row.unit === unit), words: { ...words, metric: unit } })), caption };
  },
  differences(words) {
    const rows = pairs().filter((row) => row.outcome).sort(compare("difference", true));
    if (!rows.length) return null;
    const [worst, best] = [rows[0], rows[rows.length - 1]];
    const caption = `${tally(words, rows)} Largest loss ${told(worst, "loss")}, largest win ${told(best, "win")}.`
      + thinned(rows.length, "each bar is the mean of neighbours in this order", "Choose a bar to open it in the table below.");
    return { parts: [{ rows: bars(rows), words }], caption };
  },
  values(words) {
    const rows = pairs().filter((row) => row.outcome);
    if (!rows.length) return null;
    const caption = `${tally(words, rows)} Triangle up: win; down: loss; circle: tie.`
      + thinned(rows.length, "queries with like values are one mark, larger for more of them", "Choose a mark to open it in the table below.");
    return { parts: [{ rows: points(rows), words, square: true }], caption };
  },
  slices(words) {
    const mine = data.slices.filter((row) => row.attribute === state.attribute && row.metric === words.metric
      && row.candidate === words.candidate && row.difference !== null && row.baseline_mean !== null);
    if (!mine.length) return null;
    const rows = mine.flatMap((row) => {
      const at = (end) => (end === null ? null : row.baseline_mean + end);
      return [
        { ...row, role: "baseline", system: words.baseline, value: row.baseline_mean, low: null, high: null },
        { ...row, role: "candidate", system: words.candidate, value: at(row.difference), low: at(row.low), high: at(row.high) },
      ];
    });
    const told = mine.map((row) => `${row.slice} (${row.queries} queries): ${signed(row.difference)} ${row.interval}`);
    const caption = `The line is the interval of the difference, drawn around the candidate’s mean. Exploratory: shows where to look, decides nothing.`;
    return { parts: [{ rows, words }], caption, numbers: `${told.join("; ")}.` };
  },
  nights(words) {
    const rows = data.nights.filter((row) => row.metric === words.metric);
    if (!rows.length) return null;
    const last = rows[rows.length - 1].ordinal;
    const now = rows.filter((row) => row.ordinal === last && row.mean !== null).map((row) => `${row.system} ${plain(row.mean)}`);
    const fallen = rows.filter((row) => row.regressed).map((row) => `${row.system} in evaluation ${row.ordinal}`);
    const caption = `Last: ${now.join(", ")}. Triangle: a night with the verdict regressed (${fallen.length ? fallen.join(", ") : "none"}).`;
    return { parts: [{ rows, words }], caption };
  },
};

function tally(words, rows) {
  const said = data.comparisons.find((row) => row.metric === words.metric && row.candidate === words.candidate);
  const counts = said ? said.counts.split("/").map(Number)
    : ["win", "tie", "loss"].map((outcome) => rows.filter((row) => row.outcome === outcome).length);
  const queries = said ? said.queries : rows.length;
  return `${words.candidate} against ${words.baseline} on ${counted(queries, "query")}: `
    + `${counted(counts[0], "win")}, ${counted(counts[1], "tie")}, ${counted(counts[2], "loss")}`
    + `${said ? `, mean difference ${signed(said.difference)}` : ""}.`;
}

const told = (row, outcome) => (row.outcome === outcome ? `${signed(row.difference)} (${row.id})` : "none");

function withWords(part, words) {
  if (typeof part === "string") return filled(part, words);
  if (Array.isArray(part)) return part.map((each) => withWords(each, words));
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, withWords(value, words)]));
}

async function drawFigure(name) {
  const figure = byId(`figure-${name}`);
  const found = figures[name](names());
  figure.hidden = !found || !found.parts.length || !found.parts[0].rows.length;
  if (figure.hidden) return;
  const title = filled(data.figures.titles[name], names());
  figure.querySelector("h3").textContent = title;
  const numbers = found.numbers ? [" ", element("span", { class: "unseen" }, found.numbers)] : [];
  figure.querySelector("figcaption").replaceChildren(found.caption, ...numbers);
  const holder = figure.querySelector(".chart");
  const width = holder.clientWidth || 640;
  const slots = found.parts.map(() => element("div"));
  holder.replaceChildren(...slots);
  for (const [place, part] of found.parts.entries()) {
    const spec = withWords(data.figures.specs[name], part.words);
    const side = part.square ? Math.min(width, 520) : width;
    const look = structuredClone(data.figures.config);
    look.axis = { ...look.axis, labelLimit: Math.round(width * 0.42), titleLimit: side - 60 };
    look.legend = { ...look.legend, columns: width < 480 ? 1 : 3, labelLimit: width - 80 };
    Object.assign(spec, {
      width: side, description: `${title}. ${found.caption} ${found.numbers || ""}`.trim(), config: look,
      autosize: { type: "fit", contains: "padding" },
      datasets: { rows: part.rows },
    });
    if (part.square) spec.height = side;
    if (spec.height.step) spec.height = 60 + spec.height.step * new Set(part.rows.map((row) => row.label || row.slice)).size;
    if (spec.layer && part.rows.every((row) => !row.delta)) {
      spec.layer = spec.layer.filter((layer) => !layer.encoding.x2 || layer.encoding.x2.field !== "delta");
    }
    const { view } = await window.vegaEmbed(slots[place], spec, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
    view.addEventListener("click", (event, item) => {
      if (item && item.datum && Number.isInteger(item.datum.place)) choose(item.datum.place);
    });
  }
}

async function drawFigures() {
  for (const name of Object.keys(figures)) await drawFigure(name);
}
