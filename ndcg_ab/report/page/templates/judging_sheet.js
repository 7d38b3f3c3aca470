"use strict";
(() => {
const byId = (id) => document.getElementById(id);
const { pairs, keys, identity } = JSON.parse(byId("content").textContent);
const STORED = `ndcg-ab sheet ${identity}`;
const JUDGE = "ndcg-ab judge";

/* What the browser keeps: grades by index (null: skipped), what undo goes back to, the judge, and whether the grades are in no file yet. */
let state = { grades: {}, undo: [], judge: "", begun: false, unsaved: false };
let at = 0;
let keeps = true;

function stored(name) {
  try { return localStorage.getItem(name); } catch { keeps = false; return null; }
}
function store(name, text) {
  try { localStorage.setItem(name, text); } catch { keeps = false; }
}
function resume() {
  try { state = { ...state, ...JSON.parse(stored(STORED) || "{}") }; } catch { /* what is kept there is not ours */ }
  if (!state.begun) state.judge = stored(JUDGE) || "";
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const judged = () => Object.values(state.grades).filter((grade) => grade !== null).length;
const skipped = () => Object.values(state.grades).filter((grade) => grade === null).length;
const describeGrade = (index) => (state.grades[index] === undefined ? "" : state.grades[index] === null ? "skipped" : `grade ${state.grades[index]}`);

/* The next pair that is neither judged nor skipped; the end where there is none. */
function nextOpen(from) {
  for (let step = 0; step < pairs.length; step++) {
    const index = (from + step) % pairs.length;
    if (!(index in state.grades)) return index;
  }
  return pairs.length;
}

function decide(grade) {
  if (at >= pairs.length) return;
  state.undo.push({ at, before: state.grades[at] });
  state.grades[at] = grade;
  state.unsaved = true;
  const done = describeGrade(at);
  at = nextOpen(at + 1);
  show(`${done[0].toUpperCase()}${done.slice(1)}.`);
}

function undo() {
  const last = state.undo.pop();
  if (!last) return;
  if (last.before === undefined) delete state.grades[last.at];
  else state.grades[last.at] = last.before;
  state.unsaved = true;
  at = last.at;
  show("Undone.");
}

function go(step) {
  const index = Math.min(Math.max(at + step, 0), pairs.length);
  if (index === at || (index === pairs.length && nextOpen(0) < pairs.length)) return;
  at = index;
  show("");
}

function reopen() {
  for (const [index, grade] of Object.entries(state.grades)) if (grade === null) delete state.grades[index];
  state.undo = state.undo.filter((entry) => entry.at in state.grades);
  at = nextOpen(0);
  show("");
}

function why() {
  byId("why").hidden = !byId("why").hidden;
  document.querySelector("[data-act=why]").setAttribute("aria-expanded", String(!byId("why").hidden));
}

/* A field of a TSV file, in quotes where it would break the line. */
const field = (text) => (/["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function file() {
  const judge = state.judge ? [state.judge] : [];
  const lines = [["query_id", "doc_id", "grade", ...(state.judge ? ["judge"] : [])]];
  pairs.forEach((pair, index) => {
    const grade = state.grades[index];
    if (grade !== undefined && grade !== null) lines.push([pair.query_id, pair.doc_id, String(grade), ...judge]);
  });
  return lines.map((line) => `${line.map(field).join("\t")}\n`).join("");
}

function download() {
  if (!judged()) { say("There is no grade to download yet."); return; }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file()], { type: "text/tab-separated-values" }));
  link.download = `judgments-${identity.slice(0, 8)}.tsv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  state.unsaved = false;
  show(`Downloaded ${counted(judged(), "judgment")}.`);
}

function rename() {
  state.begun = false;
  show("");
  byId("judge").focus();
}

function say(text) { byId("said").textContent = text; }

function put(id, text) { byId(id).textContent = text; }

function showPair() {
  const pair = pairs[at];
  put("position", `Pair ${at + 1} of ${pairs.length}`);
  put("state", describeGrade(at) && ` · ${describeGrade(at)}`);
  put("query", pair.text || pair.query_id);
  put("query-id", pair.query_id);
  byId("query-id").parentNode.hidden = !pair.text;
  put("doc-id", pair.doc_id);
  byId("doc-id").parentNode.hidden = !pair.title;
  byId("document").replaceChildren(pair.title || pair.doc_id);
  if (pair.url) {
    const link = document.createElement("a");
    Object.assign(link, { href: pair.url, target: "_blank", rel: "noopener noreferrer", textContent: pair.title || pair.doc_id });
    byId("document").replaceChildren(link);
  }
  byId("why").replaceChildren(...pair.why.map((text) => Object.assign(document.createElement("p"), { textContent: `${text}.` })));
  byId("why").hidden = false;
  why();
  keys.forEach(({ grade }, index) => byId("grades").children[index].setAttribute("aria-pressed", String(state.grades[at] === grade)));
}

function showEnd() {
  const [done, left] = [judged(), skipped()];
  put("end-title", !pairs.length ? "There is nothing to judge" : left ? `${done} judged, ${left} skipped` : `All ${done} judged`);
  put("end-text", !done ? "" : state.unsaved ? "Download the judgments: they are in no file yet." : "The judgments are downloaded.");
  byId("end").querySelector("[data-act=download]").hidden = !done;
  byId("reopen").hidden = !left;
}

function show(done) {
  const atEnd = at >= pairs.length;
  const wasEnd = !byId("end").hidden;
  const count = `${judged()} of ${pairs.length} judged${skipped() ? `, ${skipped()} skipped` : ""}`;
  byId("begin").hidden = state.begun;
  byId("pair").hidden = !state.begun || atEnd;
  byId("end").hidden = !state.begun || !atEnd;
  byId("foot").hidden = !state.begun || !pairs.length;
  byId("unkept").hidden = keeps;
  byId("bar").value = judged();
  put("count", count);
  put("kept", !judged() ? "" : state.unsaved ? `${counted(judged(), "grade")}, not downloaded since the last change.` : "Every grade is in the file that was downloaded last.");
  byId("undo").disabled = !state.undo.length;
  document.querySelector("[data-act=rename]").textContent = state.judge ? `Judge: ${state.judge}` : "No judge's name";
  if (atEnd) showEnd();
  else showPair();
  if (state.begun && atEnd && !wasEnd && pairs.length) byId("end").querySelector("button:not([hidden])").focus();
  const next = atEnd ? byId("end-title").textContent : `Query: ${byId("query").textContent}. Document: ${byId("document").textContent}`;
  say([done, `${count}.`, next].filter(Boolean).join(" "));
  store(STORED, JSON.stringify(state));
}

const ACTS = { back: () => go(-1), forward: () => go(1), skip: () => decide(null), undo, why, reopen, download, rename };
const BY_KEY = {
  ArrowLeft: ACTS.back, ArrowRight: ACTS.forward, Backspace: undo, u: undo, d: download,
  s: () => (at < pairs.length ? decide(null) : skipped() && reopen()),
  w: () => at < pairs.length && why(),
  o: () => at < pairs.length && byId("document").querySelector("a")?.click(),
};

/* The digit that was meant: on some keyboards digits need the shift key, and are meant without it here. */
function digitOf(event) {
  if (/^\d$/.test(event.key)) return event.key;
  return !event.shiftKey && /^Digit\d$/.test(event.code) ? event.code.slice(5) : null;
}

document.addEventListener("keydown", (event) => {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const saves = (event.ctrlKey || event.metaKey) && !event.altKey && letter === "s";
  if (!state.begun || !pairs.length || (!saves && (event.ctrlKey || event.metaKey || event.altKey))) return;
  const level = keys.find(({ key }) => key === digitOf(event));
  const act = saves ? download : level ? () => decide(level.grade) : BY_KEY[letter];
  if (!act) return;
  event.preventDefault();
  if (!event.repeat || act === ACTS.back || act === ACTS.forward) act();
});

document.addEventListener("click", (event) => {
  const act = event.target.closest?.("[data-act]")?.dataset.act;
  if (act) ACTS[act]();
});

byId("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("judge").value.trim();
  state = { ...state, judge: name, begun: true, unsaved: state.unsaved || (name !== state.judge && judged() > 0) };
  store(JUDGE, state.judge);
  show("");
});

addEventListener("beforeunload", (event) => {
  if (state.unsaved && judged()) event.preventDefault();
});

for (const { key, grade } of keys) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", onclick: () => decide(grade) });
  if (key !== String(grade)) button.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  button.append(String(grade));
  button.setAttribute("aria-label", `Grade ${grade}, key ${key}`);
  button.setAttribute("aria-keyshortcuts", key);
  byId("grades").append(button);
  const row = byId("legend").insertRow();
  row.insertCell().append(Object.assign(document.createElement("kbd"), { textContent: key }));
  row.insertCell().textContent = `grade ${grade}`;
}
resume();
state.begun ||= !pairs.length;
at = nextOpen(0);
byId("how-many").textContent = `${counted(pairs.length, "pair")} of query and document to judge.`;
byId("judge").value = state.judge;
show("");
if (!state.begun) byId("judge").focus();
})();
