// The review page: one row at a time, answered by a key. Everything from the table is set as text.
"use strict";

const find = (id) => document.getElementById(id);
const WORD = { positive: "yes", negative: "no", unsure: "unsure" };
const KEY = { y: "positive", n: "negative", "?": "unsure" };
const LONG = 90; // characters from which a value gets the whole width
const EVERY = 4000; // milliseconds between two looks at what other people have done

// This tab, also after a reload, and the rows that were labeled in it.
const page = sessionStorage.page ?? (sessionStorage.page = Array.from(
  crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join(""));
const labeled = JSON.parse(sessionStorage.labeled ?? "[]");

let row = null; // the row that is shown, or null at the end
let place = labeled.length; // of that row in `labeled`, or its length if the row is new
let busy = true; // until the server has answered: a key then means a row that nobody has seen
let conflict = null; // an answer that somebody else has given meanwhile
let about = null;

async function ask(name, sent) {
  const how = sent && { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ page, ...sent }) };
  let response;
  try {
    response = await fetch(name, { cache: "no-store", ...how });
  } catch {
    throw new Error("topbin review does not respond. Start it again and open the new address.");
  }
  const found = response.headers.get("Content-Type")?.includes("json")
    ? await response.json() : { error: await response.text() };
  if (!response.ok) throw new Error(found.error);
  return found;
}

async function during(work, failed = "") {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    say(failed + error.message);
  } finally {
    busy = false;
  }
}

const give = (answer, seen) => during(async () => {
  if (!row || (conflict && !seen)) return;
  const found = await ask("answer", { row: row.row, answer, seen: seen ?? row.answer });
  if (found.earlier) return contradict(answer, found.earlier);
  row.answer = answer;
  await leave(found);
}, "The answer was not saved. ");

// After the row of `place` was answered or kept; `found` is the next new row, if it is known.
async function leave(found) {
  if (place === labeled.length) labeled.push(row.row);
  sessionStorage.labeled = JSON.stringify(labeled);
  place += 1;
  await go(found);
}

async function go(found) {
  const old = place < labeled.length ? `row?row=${labeled[place]}` : null;
  show(old || !found ? await ask(old ?? `next?page=${page}`) : found);
  refresh();
}

const back = () => during(async () => {
  if (place === 0 || conflict) return;
  place -= 1;
  await go();
});

const forward = () => during(async () => {
  if (place === labeled.length || conflict) return;
  place += 1;
  await go();
});

function show(found) {
  say();
  row = found.row;
  find("card").hidden = !row;
  find("done").hidden = Boolean(row);
  for (const button of document.querySelectorAll("[data-answer]")) {
    button.disabled = !row;
    button.setAttribute("aria-pressed", String(row?.answer === button.dataset.answer));
  }
  find("back").disabled = place === 0;
  find("forward").disabled = place === labeled.length;
  count(found.progress);
  if (!row) return finish();
  const said = row.answer && row.answer !== "blank" ? `: answered ${WORD[row.answer]}` : "";
  find("row").textContent = `Row ${row.row.toLocaleString("en")}${said}`;
  find("pictures").hidden = !row.pictures?.length;
  find("pictures").replaceChildren(...(row.pictures ?? []).map((one) => picture_of(one)));
  find("cells").replaceChildren(...row.cells.map(cell));
  find("why").hidden = !row.why?.length && !row.near?.length;
  find("near").hidden = !row.near?.length;
  find("alike").replaceChildren(...(row.near ?? []).map(known));
  find("reasons").replaceChildren(...(row.why ?? []).map(cell));
  for (const dt of find("reasons").querySelectorAll("dt"))
    if (dt.textContent.startsWith("reason_")) dt.parentElement.className = "reason";
  scrollTo(0, 0);
}

// A picture comes in the answer itself, so that the page can ask for no other file.
function picture_of(address, alt = `The image of row ${row.row}`) {
  return Object.assign(document.createElement("img"), {
    src: address.startsWith("data:image/") ? address : "", alt });
}

// A known positive near the row: its picture if it has one, and its name.
function known({ text, picture }) {
  const item = document.createElement("li"), name = document.createElement("span");
  name.textContent = text;
  name.dir = "auto";
  if (picture) item.append(picture_of(picture, `Known positive ${text}`));
  item.append(name);
  return item;
}

// A name and a value.
function cell({ name, text }) {
  const [pair, dt, dd] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
  dt.textContent = name;
  dd.textContent = text || "empty";
  dd.dir = "auto";
  if (!text) dd.className = "empty";
  if (text.length >= LONG || text.includes("\n")) pair.className = "long";
  pair.append(dt, dd);
  return pair;
}

function count({ done, total, positive, negative, unsure }) {
  const said = [[positive, "yes"], [negative, "no"], [unsure, "unsure"]]
    .filter(([n]) => n).map(([n, word]) => `${n} ${word}`).join(", ");
  const text = `${done} of ${total} rows answered${said ? `: ${said}` : ""}`;
  if (find("progress").textContent !== text) find("progress").textContent = text;
  find("bar").value = total ? done / total : 1;
}

function contradict(mine, theirs) {
  say(`Somebody else has just answered row ${row.row.toLocaleString("en")}: ${WORD[theirs]}. ` +
    `You say ${WORD[mine]}.`);
  conflict = {
    keep: () => during(async () => { conflict = null; await leave(); }),
    replace: () => { conflict = null; give(mine, theirs); },
  };
  for (const [text, key, act] of [[`Keep ${WORD[theirs]}`, "k", "keep"], [`Replace it with ${WORD[mine]}`, "r", "replace"]]) {
    const button = document.createElement("button"), kbd = document.createElement("kbd");
    button.type = "button";
    kbd.textContent = key;
    button.append(text, " ", kbd);
    button.addEventListener("click", () => conflict?.[act]());
    find("message").append(button);
  }
}

function say(text = "") {
  conflict = text ? conflict : null;
  find("message").hidden = !text;
  find("message").replaceChildren(text ? Object.assign(document.createElement("p"), { textContent: text }) : "");
}

function finish() {
  const is_audit = about?.where, judged = about?.judged, is_first = find("judge").hidden;
  find("done-title").textContent = "All rows have an answer.";
  find("done-text").textContent = judged ? judged.sentence
    : is_audit ? "See what they say about α, or draw more rows first: then the interval is narrower."
      : about?.learns ? "The answers are saved. They can train the model (topbin audit RUN --refit), and say nothing about α."
        : "The answers are saved, and say nothing about α. Runs on images cannot be trained again yet: move the images that are positive to the known ones, and fit again.";
  find("judge").hidden = !is_audit || Boolean(judged);
  find("more").hidden = !is_audit;
  find("alpha").hidden = !judged;
  if (judged) picture(judged);
  if (is_first && !find("judge").hidden) find("judge").focus();
}

const judge = () => during(async () => {
  find("done-text").textContent = "Estimating α …";
  find("judge").hidden = true;
  about.judged = (await ask("judge", {})).judged;
  finish();
  find("done-title").focus();
  refresh();
});

const more = () => during(async () => {
  if (row || !about?.where) return;
  show(await ask("more", {}));
  refresh();
});

const percent = (x) => `${(100 * x).toFixed(1)} %`;
const range = ([low, high]) => `${percent(low)} to ${percent(high)}`;

function place_range(id, interval) {
  find(id).hidden = !interval;
  if (!interval) return;
  find(id).style.left = `${100 * interval[0]}%`;
  find(id).style.width = `${100 * (interval[1] - interval[0])}%`;
}

// What the audit made of α; nobody sees it before all rows have an answer.
function picture({ before, alpha, interval, verdict }) {
  place_range("range-first", before.interval);
  place_range("range-now", interval);
  find("point-now").style.left = `${100 * alpha}%`;
  find("alpha-text").textContent = `α = ${percent(alpha)} (${range(interval)}) with the audit`;
  const point = before.alpha === null ? "" : `α ${before.sign} ${percent(before.alpha)}`;
  const ends = before.interval ? `interval ${range(before.interval)}, the gray frame` : "";
  find("alpha-note").textContent = `Before the audit: ${[point, ends].filter(Boolean).join("; ")}.`;
  find("verdict").textContent = `Verdict: ${verdict}.`;
}

// The newest request wins; one that fails says nothing, because the next key will.
let asked = 0;
async function refresh() {
  const mine = ++asked;
  try {
    const found = await ask(`state?page=${page}`);
    if (mine !== asked) return;
    about = found;
    count(about.progress);
    find("run").textContent = about.run;
    find("question").textContent = about.question;
    if (row || busy) return;
    if (about.progress.done < about.progress.total) during(() => go()); // somebody has drawn more
    else finish();
  } catch { /* the server is away */ }
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (conflict) {
    if (key === "k" || key === "r") conflict[key === "k" ? "keep" : "replace"]();
  } else if (key in KEY) give(KEY[key]);
  else if (["b", "Backspace", "ArrowLeft"].includes(key)) back();
  else if (key === "ArrowRight") forward();
  else if (key === "m" && !row) more();
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-answer]"))
  button.addEventListener("click", () => give(button.dataset.answer));
find("back").addEventListener("click", back);
find("forward").addEventListener("click", forward);
find("judge").addEventListener("click", judge);
find("more").addEventListener("click", more);

(async () => {
  await refresh();
  busy = false;
  await during(() => go());
  setInterval(refresh, EVERY);
})();
