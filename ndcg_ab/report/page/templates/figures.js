// Figures: their rows, captions and marks, drawn as SVG. A mark that is one query opens it.
const SVG = "http://www.w3.org/2000/svg";
const SHAPES = { win: "M0,-6L6,5H-6Z", loss: "M0,6L6,-5H-6Z", tie: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0" };
const DASHES = ["", "6 3", "2 2", "8 3 2 3", "12 4", "4 2", "1 3", "10 2 2 2"];
const EDGE = { left: 58, right: 12, top: 8, bottom: 44 };
const NIGHTS_NAMED = 6; // below the axis
const span = (group, name) => group.reduce((sum, row) => sum + row[name], 0) / group.length;

function merged(group) {
  const alone = group.length === 1;
  return {
    query: alone ? group[0].id : `mean of ${group.length} queries`, text: alone ? group[0].text : "",
    index: alone ? group[0].index : null, outcome: group[0].outcome, count: group.length,
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
    const key = rows.length > data.limits.full ? cell.join() : row.index;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return [...groups.values()].map((group) => ({ ...merged(group), least, most }));
}

const thinned = (count, how, otherwise) =>
  count > data.limits.full ? ` More than ${data.limits.full.toLocaleString("en")} queries: ${how}.` : ` ${otherwise}`;

const figures = {
  differences(words) {
    const rows = pairs().filter((row) => row.outcome).sort(compare("difference", true));
    if (!rows.length) return null;
    const [worst, best] = [rows[0], rows[rows.length - 1]];
    const caption = `${tally(words, rows)} Largest loss ${told(worst, "loss")}, largest win ${told(best, "win")}.`
      + thinned(rows.length, "each bar is the mean of neighbours in this order", "Choose a bar to open it in the table above.");
    const title = `${words.metric}: what ${words.candidate} wins and loses on each query against ${words.baseline}`;
    return { title, caption, rows: bars(rows), plot: plotDifferences };
  },
  values(words) {
    const rows = pairs().filter((row) => row.outcome);
    if (!rows.length) return null;
    const caption = `${tally(words, rows)} Triangle up: win; down: loss; circle: tie.`
      + thinned(rows.length, "queries with like values are one mark, larger for more of them", "Choose a mark to open it in the table above.");
    const title = `${words.metric} of each query: ${words.baseline} across, ${words.candidate} up`;
    return { title, caption, rows: points(rows), plot: plotValues };
  },
  nights(words) {
    const rows = data.nights.filter((row) => row.metric === words.metric);
    if (new Set(rows.map((row) => row.ordinal)).size < 2) return null;
    const last = rows[rows.length - 1].ordinal;
    const now = rows.filter((row) => row.ordinal === last && row.mean !== null).map((row) => `${row.system} ${plain(row.mean)}`);
    const fallen = rows.filter((row) => row.regressed).map((row) => `${row.system} in evaluation ${row.ordinal}`);
    const caption = `Last: ${now.join(", ")}. Triangle: a night with the verdict regressed (${fallen.length ? fallen.join(", ") : "none"}).`;
    return { title: `Mean ${words.metric} of each system, night after night`, caption, rows, plot: plotNights };
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

function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/* From the least to the most in steps of 1, 2 or 5 times a power of ten, about `count` of them. */
function ticks(least, most, count = 6) {
  const rough = (most - least) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(least / step - 1e-9); at * step <= most + step * 1e-9; at++) found.push(at * step);
  return { at: found, text: (value) => value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) };
}

/* An empty figure with its axes; x and y: where a value is on it. */
function frame(width, height, across, up, names) {
  const inner = [width - EDGE.left - EDGE.right, height - EDGE.top - EDGE.bottom];
  const x = (value) => EDGE.left + inner[0] * (value - across[0]) / (across[1] - across[0] || 1);
  const y = (value) => EDGE.top + inner[1] * (1 - (value - up[0]) / (up[1] - up[0] || 1));
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "plot" });
  const [ends, low] = [width - EDGE.right, height - EDGE.bottom];
  const marked = ticks(...up);
  for (const at of marked.at) {
    svg.append(drawn("line", { class: "grid", x1: EDGE.left, x2: ends, y1: y(at), y2: y(at) }));
    svg.append(drawn("text", { x: EDGE.left - 8, y: y(at) + 4, "text-anchor": "end" }, marked.text(at)));
  }
  const below = names.below || ticks(...across, Math.max(2, Math.floor(inner[0] / 90)));
  for (const at of below.at) {
    svg.append(drawn("text", { x: x(at), y: low + 17, "text-anchor": "middle" }, below.text(at)));
  }
  svg.append(drawn("line", { class: "axis", x1: EDGE.left, x2: ends, y1: low, y2: low }));
  svg.append(drawn("text", { class: "name", x: EDGE.left + inner[0] / 2, y: height - 6, "text-anchor": "middle" }, names.across));
  const turned = `translate(13 ${EDGE.top + inner[1] / 2}) rotate(-90)`;
  svg.append(drawn("text", { class: "name", transform: turned, "text-anchor": "middle" }, names.up));
  return { svg, x, y };
}

/* A mark with its words as a tip; one that is a single query can be chosen. */
function mark(name, attributes, row) {
  const text = [row.text ? `${row.query} · ${row.text}` : row.query,
    `baseline ${plain(row.baseline)}, candidate ${plain(row.candidate)}, difference ${signed(row.difference)}`].join("\n");
  const mark = Number.isInteger(row.index) ? { "data-index": row.index } : {};
  return drawn(name, { ...attributes, ...mark, class: `mark ${row.outcome}` }, drawn("title", {}, text));
}

function plotDifferences(rows, width, words) {
  const ends = rows.map((row) => row.difference);
  const up = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const count = rows[rows.length - 1].to;
  const { svg, x, y } = frame(width, 300, [0, count], up, { across: "queries, the largest loss first", up: `difference in ${words.metric}` });
  for (const row of rows) {
    const [top, bottom] = [y(Math.max(row.difference, 0)), y(Math.min(row.difference, 0))];
    const wide = x(row.to) - x(row.from);
    svg.append(mark("rect", { x: x(row.from), y: top, width: Math.max(0.5, wide - (wide > 3 ? 1 : 0)), height: Math.max(1.5, bottom - top) }, row));
  }
  svg.append(drawn("line", { class: "axis", x1: x(0), x2: x(count), y1: y(0), y2: y(0) }));
  return svg;
}

function plotValues(rows, width, words) {
  const side = Math.min(width, 520);
  const ends = [rows[0].least, rows[0].most];
  const { svg, x, y } = frame(side, side, ends, ends, { across: words.baseline, up: words.candidate });
  svg.append(drawn("line", { class: "axis", x1: x(ends[0]), x2: x(ends[1]), y1: y(ends[0]), y2: y(ends[1]) }));
  for (const row of rows) {
    const size = Math.min(3, Math.sqrt(row.count));
    svg.append(mark("path", { d: SHAPES[row.outcome], transform: `translate(${x(row.baseline)} ${y(row.candidate)}) scale(${size})` }, row));
  }
  return svg;
}

function plotNights(rows, width, words) {
  const nights = [...new Map(rows.map((row) => [row.ordinal, row.night])).entries()];
  const indexOf = new Map(nights.map(([ordinal], at) => [ordinal, at]));
  const means = rows.map((row) => row.mean).filter((mean) => mean !== null);
  const room = (Math.max(...means) - Math.min(...means)) * 0.08 || 0.05;
  const every = Math.max(1, Math.ceil(nights.length / Math.min(NIGHTS_NAMED, Math.floor(width / 110))));
  const named = { at: nights.map((_, at) => at).filter((at) => (nights.length - 1 - at) % every === 0), text: (at) => nights[at][1] };
  const { svg, x, y } = frame(width, 300, [-0.5, nights.length - 0.5], [Math.min(...means) - room, Math.max(...means) + room],
    { across: "night (UTC)", up: `mean ${words.metric}`, below: named });
  const systems = [...new Set(rows.map((row) => row.system))];
  systems.forEach((system, at) => {
    const mine = rows.filter((row) => row.system === system);
    let path = "";
    let gap = true;
    for (const row of mine) {
      if (row.mean !== null) path += `${gap ? "M" : "L"}${x(indexOf.get(row.ordinal))},${y(row.mean)}`;
      gap = row.mean === null;
    }
    svg.append(drawn("path", { d: path, class: "line", style: lineLook(at) }));
    for (const row of mine.filter((each) => each.mean !== null)) {
      const moved = `translate(${x(indexOf.get(row.ordinal))} ${y(row.mean)})`;
      const tip = drawn("title", {}, `${system}, evaluation ${row.ordinal}, ${row.night}\n${plain(row.mean)}, ${row.verdict || "baseline"}`);
      const shape = row.regressed ? { class: "mark loss", d: SHAPES.loss, transform: `${moved} scale(1.4)` }
        : { class: "mark", d: SHAPES.tie, transform: `${moved} scale(.7)`, style: `fill: ${colour(at)}` };
      svg.append(drawn("path", shape, tip));
    }
  });
  return svg;
}

const colour = (at) => `var(--line${(at % 8) + 1})`;
const lineLook = (at) => `stroke: ${colour(at)}; stroke-dasharray: ${DASHES[at % DASHES.length] || "none"}`;

/* The names of the lines, each with a piece of its line. */
function legend(rows) {
  const systems = [...new Set(rows.map((row) => row.system))];
  return element("p", { class: "names" }, ...systems.map((system, at) => {
    const piece = drawn("svg", { width: 34, height: 10, "aria-hidden": "true" }, drawn("path", { d: "M0,5H34", class: "line", style: lineLook(at) }));
    return element("span", {}, piece, ` ${system}`);
  }));
}

function drawFigure(name) {
  const figure = byId(`figure-${name}`);
  if (!figure) return; // no evaluations are kept
  const found = figures[name](names());
  figure.hidden = !found;
  if (!found) return;
  figure.querySelector("h3").textContent = found.title;
  figure.querySelector("figcaption").textContent = found.caption;
  const holder = figure.querySelector(".chart");
  const svg = found.plot(found.rows, Math.max(300, holder.clientWidth || 640), names());
  svg.setAttribute("aria-label", `${found.title}. ${found.caption}`);
  holder.replaceChildren(...(name === "nights" ? [legend(found.rows)] : []), svg);
}

function drawFigures() {
  for (const name of Object.keys(figures)) drawFigure(name);
}

document.addEventListener("click", (event) => {
  const chosen = event.target.closest(".plot [data-index]");
  if (chosen) choose(Number(chosen.dataset.index));
});
