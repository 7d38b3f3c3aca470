// The table of queries, and the one that is open: below its row, with an address of its own.
const ROWS = 50;
const OPEN = "q="; // an address is #q=QUERY&c=CANDIDATE, with &m=METRIC unless it is the first

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
  byId("query-table").tBodies[0].replaceChildren(...part.flatMap(tableRows));
  for (const head of document.querySelectorAll("#query-table th[data-column]")) {
    const active = head.dataset.column === state.column;
    if (active) head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
    head.hidden = head.dataset.column === "text" && !hasTexts();
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

const hasTexts = () => data.queries.text.some((text) => text);

function tableRows(row) {
  const isOpen = row.index === state.chosen;
  const button = element("button", { type: "button", "data-index": row.index, "aria-expanded": isOpen }, row.id);
  const made = element("tr", { "data-query": row.index }, element("td", { class: "words" }, button));
  made.append(element("td", { class: row.outcome || "" }, signed(row.difference)));
  if (hasTexts()) made.append(element("td", { class: "words" }, row.text));
  made.append(element("td", {}, plain(row.baseline)), element("td", {}, plain(row.candidate)));
  if (!isOpen) return [made];
  made.className = "chosen";
  const cell = element("td", { class: "opened", colspan: made.cells.length }, detail(row));
  return [made, element("tr", { class: "opened" }, cell)];
}

/* One query, opened */

function detail(row) {
  const { metric, candidate, baseline } = names();
  const title = element("h3", { id: "detail-title", tabindex: "-1" }, row.text ? `${row.id} · ${row.text}` : row.id);
  const values = `${metric}: ${baseline} ${plain(row.baseline)}, ${candidate} ${plain(row.candidate)}, difference ${signed(row.difference)}`;
  const link = element("a", { href: `#${address()}`, class: "address" }, "link to this query");
  const copy = element("button", { type: "button", class: "copy" }, "Copy the link");
  copy.hidden = !navigator.clipboard;
  const close = element("button", { type: "button", class: "close" }, "Close");
  const made = element("div", { id: "detail", class: "detail", role: "region", "aria-labelledby": "detail-title" }, title,
    element("p", { id: "detail-values" }, values), element("p", { class: "links" }, link, copy, close));
  if (data.given) return made;
  const known = data.rankings[row.index];
  if (!known) {
    made.append(element("p", { class: "soft" }, "This query’s rankings were left out to keep the page small: ",
      element("code", {}, "ndcg-ab explain"), " shows them."));
    return made;
  }
  const [docs, grades, rankings] = known;
  const before = rankings[data.baseline];
  const after = state.candidate < 0 ? before : rankings[state.candidate];
  const tables = element("div", { class: "pair" }, rankingTable(baseline, docs, grades, before, after, true));
  if (state.candidate >= 0) tables.append(rankingTable(candidate, docs, grades, after, before, false));
  made.append(tables, ...changed(before, after, known[4]), ...missedTable(known),
    element("p", { class: "soft" }, `The first ${data.depth} results at most, in the order that ${data.metrics[0]} ranks them; new and left mean: among these. Gain: what a grade is worth to ${data.metrics[0]}.`));
  return made;
}

/* How many of the candidate's results are the baseline's. */
function changed(before, after, rbo) {
  if (state.candidate < 0) return [];
  const shared = after.filter((doc) => before.includes(doc)).length;
  const agreement = rbo[state.candidate] === null ? "" : `; rank-biased overlap ${rbo[state.candidate].toFixed(2)}`;
  const moved = `${after.length - shared} came in, ${before.length - shared} went`;
  return [element("p", { class: "changed" }, `${shared} of these results are in both, ${moved}${agreement}.`)];
}

function rankingTable(system, docs, grades, ranking, other, isBaseline) {
  const body = element("tbody");
  ranking.forEach((doc, index) => {
    const grade = grades[doc];
    const worth = grade === null ? null : data.gains.find((pair) => pair[0] === grade);
    const [kind, mark] = movement(index + 1, other.indexOf(doc) + 1, isBaseline);
    body.append(element("tr", {},
      element("td", {}, index + 1),
      element("td", { class: "words" }, ...documentParts(docs[doc])),
      element("td", { class: grade === null ? "unjudged" : "" }, grade === null ? "unjudged" : grade),
      element("td", {}, grade === null ? 0 : worth ? Number(worth[1].toFixed(4)) : "–"),
      element("td", { class: `move ${kind}` }, mark)));
  });
  if (!ranking.length) body.append(element("tr", {}, element("td", { class: "words", colspan: 5 }, "returned nothing")));
  const heads = ["rank", "document", "grade", "gain", isBaseline ? "in candidate" : "from baseline"];
  const role = isBaseline ? "baseline" : "candidate";
  return documentTable(role, [element("strong", {}, system), `, ${role}`], `Ranking of the ${role}`, heads, [1, 4], body);
}

function documentTable(role, caption, label, heads, words, body) {
  const head = element("tr", {}, ...heads.map((text, index) =>
    element("th", { scope: "col", ...(words.includes(index) ? { class: "words" } : {}) }, text)));
  const table = element("table", { "data-role": role }, element("caption", {}, ...caption), element("thead", {}, head), body);
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);
}

/* The title, with its address where it is one of the web, and the id below; the id alone where nothing else is known. */
function documentParts(doc) {
  if (typeof doc === "string") return [doc];
  const [id, title, url] = doc;
  const isLink = url !== null && /^https?:/i.test(url);
  const name = title === null ? id : title;
  const shown = isLink ? element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, name) : name;
  return title === null ? [shown] : [shown, element("small", {}, id)];
}

function movement(rank, otherRank, isBaseline) {
  if (!otherRank) return isBaseline ? ["left loss", "✕ left"] : ["new win", "+ new"];
  const up = isBaseline ? rank - otherRank : otherRank - rank;
  if (up === 0) return ["same", "= same"];
  return up > 0 ? ["up win", `▲ up ${up}`] : ["down loss", `▼ down ${-up}`];
}

/* Relevant documents that one of the two does not show: the best of them, and where each system has them. */
function missedTable([docs, grades, rankings, missed]) {
  const MOST = 10;
  const systems = state.candidate < 0 ? [data.baseline] : [data.baseline, state.candidate];
  const idOf = (index) => (typeof docs[index] === "string" ? docs[index] : docs[index][0]);
  const indices = [...new Set(systems.flatMap((system) => missed[system][1].map(([index]) => index)))]
    .sort((one, other) => grades[other] - grades[one] || (idOf(one) < idOf(other) ? -1 : 1));
  if (!indices.length) return [];
  const body = element("tbody", {}, ...indices.slice(0, MOST).map((index) => element("tr", {},
    element("td", {}, grades[index]),
    element("td", { class: "words" }, ...documentParts(docs[index])),
    ...systems.map((system) => standing(index, rankings[system], missed[system][1])))));
  const counts = systems.map((system) => `${data.systems[system]} ${missed[system][0]}`).join(", ");
  const caption = [element("strong", {}, "Relevant and not among these results"), `: ${counts}${indices.length > MOST ? `; the best ${MOST}` : ""}`];
  const heads = ["grade", "document", ...systems.map((system) => data.systems[system])];
  return [documentTable("missed", caption, "Relevant documents that are not shown", heads, [1, 2, 3], body)];
}

function standing(index, ranking, missed) {
  const shown = ranking.indexOf(index);
  if (shown >= 0) return element("td", { class: "move" }, `shown at rank ${shown + 1}`);
  const found = missed.find(([doc]) => doc === index);
  if (!found) return element("td", { class: "move" }, "–");
  return element("td", { class: `move ${found[1] === null ? "loss" : ""}` }, found[1] === null ? "not returned" : `returned at rank ${found[1]}`);
}

/* Opening, closing, and the address */

function address() {
  const said = new URLSearchParams({ q: data.queries.id[state.chosen], c: names().candidate });
  if (state.metric > 0) said.set("m", names().metric);
  return said.toString();
}

function choose(index, focus = true) {
  state.chosen = index;
  uncover();
  drawTable();
  goTo(address());
  if (focus) {
    byId("detail-title").focus({ preventScroll: true });
    document.querySelector("tr.chosen").scrollIntoView({ block: "start" });
  }
}

/* The page of the table that holds the open query; filters that hide it are taken away. */
function uncover() {
  let index = shownRows().findIndex((row) => row.index === state.chosen);
  if (index < 0) {
    Object.assign(state, { show: "all", search: "" });
    byId("search").value = "";
    for (const select of document.querySelectorAll("select[data-choice=show]")) select.value = "all";
    index = shownRows().findIndex((row) => row.index === state.chosen);
  }
  state.page = Math.floor(index / ROWS);
}

function close() {
  const index = state.chosen;
  if (index === null) return;
  state.chosen = null;
  drawTable();
  goTo(OPEN); // not empty: that would scroll to the top
  const button = document.querySelector(`#query-table button[data-index="${index}"]`);
  (button || byId("search")).focus();
}

/* j, k: the keyboard's position among the rows of this page of the table, where Enter opens; n, p: the query that follows. */
const keys = { j: () => walk(1), k: () => walk(-1), n: () => follow(1), p: () => follow(-1), Escape: close };

function walk(step) {
  const buttons = [...document.querySelectorAll("#query-table button[data-index]")];
  if (!buttons.length) return;
  const here = document.activeElement.closest("#query-table tr");
  const before = here && here.classList.contains("opened") ? here.previousElementSibling : here;
  const at = before ? buttons.indexOf(before.querySelector("button[data-index]")) : -1;
  const next = at < 0 ? buttons[0] : buttons[Math.min(buttons.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  next.closest("tr").scrollIntoView({ block: "nearest" });
}

function follow(step) {
  const rows = shownRows();
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.index === state.chosen);
  const next = at < 0 ? 0 : at + step;
  if (rows[next]) choose(rows[next].index);
}

function goTo(where) {
  if (location.hash.slice(1) !== where) location.hash = where;
}

/* What the address says; false where it names no query, or one that is not here. */
function followAddress() {
  const where = location.hash.slice(1);
  const said = new URLSearchParams(where);
  const index = data.queries.id.indexOf(said.get("q"));
  const candidate = data.systems.indexOf(said.get("c"));
  const metric = said.has("m") ? data.metrics.indexOf(said.get("m")) : 0;
  byId("unknown").hidden = index >= 0 || !said.get("q");
  byId("unknown").textContent = `The link names the query ${said.get("q")}, which this page does not have.`;
  if (index < 0) {
    state.chosen = null;
    return false;
  }
  if (candidate >= 0 && candidate !== data.baseline) state.candidate = candidate;
  if (metric >= 0) state.metric = metric;
  state.chosen = index;
  return true;
}

function arrive(isLoad) {
  const asked = location.hash.slice(1) || OPEN;
  if (!isLoad && (!asked.startsWith(OPEN) || asked === (state.chosen === null ? OPEN : address()))) return;
  const { metric, candidate } = state;
  const found = followAddress();
  if (found) uncover();
  if (isLoad || metric !== state.metric || candidate !== state.candidate) show();
  else drawTable();
  if (found) {
    document.querySelector("tr.chosen").scrollIntoView({ block: "start" });
    byId("detail-title").focus({ preventScroll: true });
  }
}

function listenToQueries() {
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
  byId("query-table").tBodies[0].addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("close")) close();
    else if (button.classList.contains("copy")) {
      const link = `${location.href.split("#")[0]}#${address()}`;
      button.textContent = await navigator.clipboard.writeText(link).then(() => "Copied", () => "Copy it from the link beside this");
    } else if (Number(button.dataset.index) === state.chosen) close();
    else choose(Number(button.dataset.index));
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keys[event.key];
    if (!key) return;
    event.preventDefault();
    key();
  });
  byId("before").addEventListener("click", () => { state.page--; drawTable(); });
  byId("after").addEventListener("click", () => { state.page++; drawTable(); });
  window.addEventListener("hashchange", () => arrive(false));
}
