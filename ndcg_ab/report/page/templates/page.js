// Controls, links, and the beginning of it all. Texts enter as text nodes alone.
function fill(choice, entries) {
  for (const select of document.querySelectorAll(`select[data-choice=${choice}]`)) {
    select.replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
    select.closest("label").hidden = entries.length < 2;
  }
}

function show() {
  for (const select of document.querySelectorAll("select[data-choice]")) select.value = String(state[select.dataset.choice]);
  drawTable();
  drawFigures();
}

function listen() {
  document.addEventListener("change", (event) => {
    const choice = event.target.dataset && event.target.dataset.choice;
    if (!choice) return;
    const number = choice === "metric" || choice === "candidate";
    state[choice] = number ? Number(event.target.value) : event.target.value;
    state.page = 0;
    if (choice === "show") return drawTable();
    if (state.chosen !== null) {
      uncover();
      goTo(address());
    }
    show();
  });
  let width = window.innerWidth;
  let waiting;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawFigures, 150);
  });
}

// Inside another page (MLflow shows artifacts so) a link to an anchor would load that page: move there instead.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link) return;
  const where = link.getAttribute("href").slice(1);
  if (where.startsWith(OPEN)) {
    event.preventDefault();
    goTo(where);
    return;
  }
  const target = byId(where);
  if (!target) return;
  event.preventDefault();
  const folded = target.tagName === "DETAILS" ? target : target.querySelector(":scope > details");
  if (folded) folded.open = true;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
});

async function start() {
  data = JSON.parse(await unpacked("data"));
  const candidates = data.systems.map((name, index) => [index, name]).filter(([index]) => index !== data.baseline);
  state.candidate = data.best === null ? -1 : data.best; // one system alone
  fill("metric", data.metrics.map((name, index) => [index, name]));
  fill("candidate", candidates);
  for (const part of document.querySelectorAll(".with-script")) part.hidden = false;
  listen();
  listenToQueries();
  listenToHeads();
  if (location.hash.startsWith(`#${OPEN}`)) arrive(true);
  else show();
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  byId("failed").hidden = false;
  byId("failed").textContent = `The figures and the table of queries could not be drawn: ${error.message}`;
  throw error;
});
