"use strict";
// Draws figures, the table of queries and the rankings from the block of data. Texts enter as text nodes alone.
(() => {
  const ROWS = 50;
  const TIE = 1e-9;
  const byId = (id) => document.getElementById(id);
  const collator = new Intl.Collator("en", { numeric: true });
  const state = { metric: 0, candidate: 1, attribute: "", show: "all", search: "", column: "difference", rising: true, page: 0, chosen: null };
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
  const filled = (text, words) => text.replace(/\{(metric|candidate|baseline|attribute)\}/g, (whole, name) => words[name]);

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    return made;
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const names = () => ({
    metric: data.metrics[state.metric],
    candidate: data.systems[state.candidate] || "–",
    baseline: data.systems[data.baseline],
    attribute: state.attribute,
  });

  /* Queries that both systems are scored on. */
  function pairs() {
    const columns = data.values[state.metric];
    const found = [];
    for (let place = 0; place < data.queries.id.length; place++) {
      const baseline = columns[data.baseline][place];
      const candidate = columns[state.candidate] ? columns[state.candidate][place] : null;
      const both = baseline !== null && candidate !== null;
      const difference = both ? candidate - baseline : null;
      found.push({
        place, baseline, candidate, difference,
        id: data.queries.id[place], text: data.queries.text[place] || "",
        outcome: both ? outcomeOf(difference) : null,
      });
    }
    return found;
  }

  /* The table of queries */

  function compare(column, rising) {
    const sign = rising ? 1 : -1;
    return (one, other) => {
      const [a, b] = [one[column], other[column]];
      if (a === null || b === null) return (a === null) - (b === null);
      const order = typeof a === "string" ? collator.compare(a, b) : a - b;
      return sign * order || collator.compare(one.id, other.id);
    };
  }

  function shownRows() {
    const wanted = state.search.toLowerCase();
    return pairs()
      .filter((row) => state.show === "all" || row.outcome === state.show)
      .filter((row) => !wanted || row.id.toLowerCase().includes(wanted) || row.text.toLowerCase().includes(wanted))
      .sort(compare(state.column, state.rising));
  }

  function drawTable() {
    const rows = shownRows();
    const pages = Math.max(1, Math.ceil(rows.length / ROWS));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * ROWS;
    const part = rows.slice(first, first + ROWS);
    byId("query-table").tBodies[0].replaceChildren(...part.map(tableRow));
    for (const head of document.querySelectorAll("#query-table th[data-column]")) {
      const active = head.dataset.column === state.column;
      if (active) head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    const heads = { baseline: names().baseline, candidate: names().candidate };
    for (const [column, text] of Object.entries(heads)) {
      document.querySelector(`#query-table th[data-column=${column}] button`).textContent = text;
    }
    byId("shown").textContent = rows.length
      ? `${first + 1}–${first + part.length} of ${counted(rows.length, "query")}`
      : "no query fits";
    byId("before").disabled = state.page === 0;
    byId("after").disabled = state.page >= pages - 1;
  }

  function tableRow(row) {
    const button = element("button", { type: "button", "data-place": row.place }, row.id);
    const made = element("tr", {}, element("td", { class: "words" }, button), element("td", { class: "words" }, row.text));
    made.append(element("td", {}, plain(row.baseline)), element("td", {}, plain(row.candidate)));
    made.append(element("td", { class: row.outcome || "" }, signed(row.difference)));
    if (row.place === state.chosen) {
      made.className = "chosen";
      button.setAttribute("aria-current", "true");
    }
    return made;
  }

  /* One query: both rankings side by side */

  function choose(place, focus = true) {
    state.chosen = place;
    drawTable();
    drawDetail();
    if (focus) {
      byId("detail-title").focus({ preventScroll: true });
      byId("detail").scrollIntoView({ block: "start" });
    }
  }

  function drawDetail() {
    if (state.chosen === null) return;
    const row = pairs()[state.chosen];
    const { metric, candidate, baseline } = names();
    byId("detail").hidden = false;
    byId("detail-title").textContent = row.text ? `${row.id} · ${row.text}` : row.id;
    byId("detail-values").textContent =
      `${metric}: ${baseline} ${plain(row.baseline)}, ${candidate} ${plain(row.candidate)}, difference ${signed(row.difference)}`;
    const known = data.rankings[state.chosen];
    byId("detail-missing").hidden = Boolean(known);
    const holder = document.querySelector("#detail .pair");
    holder.replaceChildren();
    byId("detail-note").textContent = known
      ? `The first ${data.depth} results at most, in the order that ${data.metrics[0]} ranks them; new and left mean: among these. Gain: what a grade is worth to ${data.metrics[0]}.`
      : "";
    if (!known) return;
    const [docs, grades, rankings] = known;
    const before = rankings[data.baseline];
    const after = state.candidate < 0 ? before : rankings[state.candidate];
    holder.append(rankingTable(baseline, docs, grades, before, after, true));
    if (state.candidate >= 0) holder.append(rankingTable(candidate, docs, grades, after, before, false));
  }

  function rankingTable(system, docs, grades, ranking, other, isBaseline) {
    const body = element("tbody");
    ranking.forEach((doc, place) => {
      const grade = grades[doc];
      const worth = grade === null ? null : data.gains.find((pair) => pair[0] === grade);
      const [kind, mark] = movement(place + 1, other.indexOf(doc) + 1, isBaseline);
      body.append(element("tr", {},
        element("td", {}, place + 1),
        element("td", { class: "words" }, docs[doc]),
        element("td", { class: grade === null ? "unjudged" : "" }, grade === null ? "unjudged" : grade),
        element("td", {}, grade === null ? 0 : worth ? Number(worth[1].toFixed(4)) : "–"),
        element("td", { class: `move ${kind}` }, mark)));
    });
    if (!ranking.length) body.append(element("tr", {}, element("td", { class: "words", colspan: 5 }, "returned nothing")));
    const heads = ["rank", "document", "grade", "gain", isBaseline ? "in candidate" : "from baseline"];
    const head = element("tr", {}, ...heads.map((text, place) =>
      element("th", { scope: "col", ...(place === 1 || place === 4 ? { class: "words" } : {}) }, text)));
    const role = isBaseline ? "baseline" : "candidate";
    const caption = element("caption", {}, element("strong", {}, system), `, ${role}`);
    const table = element("table", { "data-role": role }, caption, element("thead", {}, head), body);
    return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Ranking of the ${role}` }, table);
  }

  function movement(rank, otherRank, isBaseline) {
    if (!otherRank) return isBaseline ? ["left loss", "✕ left"] : ["new win", "+ new"];
    const up = isBaseline ? rank - otherRank : otherRank - rank;
    if (up === 0) return ["same", "= same"];
    return up > 0 ? ["up win", `▲ up ${up}`] : ["down loss", `▼ down ${-up}`];
  }

  /* Figures */

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
      const told = rows.map((row) => `${row.candidate}, ${row.metric}: ${signed(row.difference)} (${row.interval}), ${row.verdict}`);
      const band = rows.some((row) => row.delta !== null) ? " Grey band: the smallest effect that matters." : "";
      const caption = `Triangle up: improved; down: regressed or, of a guardrail, may be worse; circle: neither.${band}`;
      const numbers = `${told.join(". ")}.`;
      return { numbers, parts: units.map((unit) => ({ rows: rows.filter((row) => row.unit === unit), words: { ...words, metric: unit } })), caption };
    },
    differences(words) {
      const rows = pairs().filter((row) => row.outcome).sort(compare("difference", true));
      if (!rows.length) return null;
      const [worst, best] = [rows[0], rows[rows.length - 1]];
      const caption = `${tally(words, rows)} Largest loss ${told(worst, "loss")}, largest win ${told(best, "win")}.`
        + thinned(rows.length, "each bar is the mean of neighbours in this order", "Choose a bar to see its rankings below.");
      return { parts: [{ rows: bars(rows), words }], caption };
    },
    values(words) {
      const rows = pairs().filter((row) => row.outcome);
      if (!rows.length) return null;
      const caption = `${tally(words, rows)} Triangle up: win; down: loss; circle: tie.`
        + thinned(rows.length, "queries with like values are one mark, larger for more of them", "Choose a mark to see its rankings below.");
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
      const told = mine.map((row) => `${row.slice} (${row.queries} queries): ${signed(row.difference)} (${row.interval})`);
      const caption = `The line is the interval of the difference, drawn around the candidate’s mean. Exploratory: shows where to look, decides nothing.`;
      return { parts: [{ rows, words }], caption, numbers: `${told.join("; ")}.` };
    },
    nights(words) {
      const rows = data.nights.filter((row) => row.metric === words.metric);
      if (!rows.length) return null;
      const last = Math.max(...rows.map((row) => row.ordinal));
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

  /* Controls */

  function fill(choice, entries) {
    for (const select of document.querySelectorAll(`select[data-choice=${choice}]`)) {
      select.replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
      select.closest("label").hidden = entries.length < 2;
    }
  }

  function show() {
    for (const select of document.querySelectorAll("select[data-choice]")) select.value = String(state[select.dataset.choice]);
    drawTable();
    drawDetail();
    return drawFigures();
  }

  function listen() {
    document.addEventListener("change", (event) => {
      const choice = event.target.dataset && event.target.dataset.choice;
      if (!choice) return;
      const number = choice === "metric" || choice === "candidate";
      state[choice] = number ? Number(event.target.value) : event.target.value;
      state.page = 0;
      if (choice === "show") drawTable();
      else show();
    });
    byId("search").addEventListener("input", (event) => {
      state.search = event.target.value.trim();
      state.page = 0;
      drawTable();
    });
    byId("query-table").tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th[data-column]");
      if (!head) return;
      state.rising = head.dataset.column === state.column ? !state.rising : true;
      state.column = head.dataset.column;
      state.page = 0;
      drawTable();
    });
    byId("query-table").tBodies[0].addEventListener("click", (event) => {
      const button = event.target.closest("button[data-place]");
      if (button) choose(Number(button.dataset.place));
    });
    byId("before").addEventListener("click", () => { state.page--; drawTable(); });
    byId("after").addEventListener("click", () => { state.page++; drawTable(); });
    document.querySelector(".back").addEventListener("click", () => {
      const button = document.querySelector(`#query-table button[data-place="${state.chosen}"]`) || byId("search");
      button.focus();
    });
    let width = window.innerWidth;
    let waiting;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      clearTimeout(waiting);
      waiting = setTimeout(drawFigures, 150);
    });
    window.addEventListener("beforeprint", () => {
      for (const details of document.querySelectorAll("details")) details.open = true;
    });
  }

  // Inside another page (MLflow shows artifacts so) a link to a place would load that page: move there instead.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    const target = link && byId(link.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  });

  async function start() {
    data = await unpack(byId("data").textContent);
    const candidates = data.systems.map((name, place) => [place, name]).filter(([place]) => place !== data.baseline);
    state.candidate = candidates.length ? candidates[0][0] : -1; // one system alone
    const attributes = [...new Set(data.slices.map((row) => row.attribute))];
    state.attribute = attributes[0] || "";
    fill("metric", data.metrics.map((name, place) => [place, name]));
    fill("candidate", candidates);
    fill("attribute", attributes.map((name) => [name, name]));
    for (const part of document.querySelectorAll(".with-script")) part.hidden = false;
    listen();
    await show();
    document.documentElement.dataset.ready = "true";
  }

  start().catch((error) => {
    byId("failed").hidden = false;
    byId("failed").textContent = `The figures and the table of queries could not be drawn: ${error.message}`;
    throw error;
  });
})();
