"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const tab = document.body.dataset.tab;
  let row = null; // what is shown
  let busy = false; // a request is under way: keys wait
  let seen = false; // the stop sign was shown, and the person goes on
  let undoable = false;

  async function ask(action, more = {}) {
    const answer = await fetch(action, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ tab, ...more }),
    });
    if (answer.status === 403) throw new Error("This page has expired. Open the address that the command prints now.");
    const found = await answer.json().catch(() => ({ error: "The server failed; its terminal says why." }));
    if (!answer.ok) throw new Error(found.error);
    return found;
  }

  function lost(error) {
    // fetch says TypeError if nobody answers.
    at("error").textContent = error instanceof TypeError
      ? "The server does not answer: your last answer may not be saved. Start it again and open the address that it prints; it goes on where you were."
      : error.message;
    at("error").hidden = false;
  }

  async function send(action, more) {
    if (busy) return;
    busy = true;
    buttons();
    try {
      await settle(action, more);
      at("error").hidden = true;
    } catch (error) {
      lost(error);
      if (!(error instanceof TypeError)) await settle("next").catch(() => {}); // said already
    }
    busy = false;
    buttons();
  }

  async function settle(action, more) {
    let found = await ask(action, more);
    show(found);
    while (found.state === "ranking") {
      await new Promise((go) => setTimeout(go, 200));
      found = await ask("next");
      show(found);
    }
  }

  function cell(name, { text, image }) {
    const td = document.createElement("td");
    if (image) {
      const picture = document.createElement("img");
      picture.src = image;
      picture.alt = `${name}: ${text}`;
      td.append(picture);
    } else {
      td.dir = "auto";
      td.textContent = text;
      if (text.length > 60 || text.includes("\n")) td.className = "text";
    }
    return td;
  }

  function line(one) {
    const tr = document.createElement("tr");
    const th = document.createElement("th");
    th.scope = "row";
    th.textContent = one.name;
    tr.append(th, cell(one.name, one));
    return tr;
  }

  function show(found) {
    const { status } = found;
    const count = (n) => Math.round(n).toLocaleString("en");
    const changed = row?.row !== found.row?.row;
    row = found.row;
    undoable = found.undo;
    at("found").textContent = count(status.found);
    at("looks").textContent = `${count(status.looks)} of ${count(status.size)}`;
    at("left").textContent = `${count(status.left.low)} to ${count(status.left.high)}`;
    at("words").textContent = status.words;
    const differ = Object.keys(status.disagreements).length;
    at("differ").textContent = differ ? `Reviewers differ on ${differ === 1 ? "1 row" : `${count(differ)} rows`}.` : "";
    const looks = Math.max(1, status.curve.at(-1)[0]);
    const most = Math.max(1, status.found);
    at("line").setAttribute("points", status.curve.map(([x, y]) => `${(300 * x) / looks},${58 - (56 * y) / most}`).join(" "));
    at("curve").setAttribute("aria-label", `${count(status.found)} found in ${count(status.looks)} looks`);
    const { issued } = status.certificate;
    if (!issued) seen = false;
    at("certified").textContent = status.words;
    at("stop").hidden = !issued || seen;
    at("words").hidden = issued && !seen;
    at("ranking").hidden = found.state !== "ranking";
    at("spent").hidden = found.state !== "spent";
    at("here").hidden = !row || !at("stop").hidden;
    buttons();
    if (!row || !changed) return;
    at("title").textContent = `Row ${(row.row + 1).toLocaleString("en")}`;
    at("cells").replaceChildren(...row.cells.map(line));
    const from = row.random ? "Drawn at random, to tell how many are left." : "The ranking put it here.";
    at("reason").textContent = row.why ? `${from} ${row.why}` : from;
    document.querySelector("main").scrollTop = 0;
    at("spoken").textContent = at("title").textContent;
  }

  function buttons() {
    for (const id of ["yes", "no", "unsure"]) at(id).disabled = busy || at("here").hidden;
    at("undo").disabled = busy || !undoable;
  }

  function give(answer) {
    if (!busy && row && !at("here").hidden) send("answer", { row: String(row.row), answer });
  }

  function goOn() {
    if (at("stop").hidden) return;
    seen = true;
    at("stop").hidden = true;
    at("words").hidden = false;
    at("here").hidden = !row;
    buttons();
  }

  const actions = {
    y: () => give("yes"),
    n: () => give("no"),
    "?": () => give("?"),
    d: () => give("?"),
    u: () => undoable && send("undo"),
    Backspace: () => undoable && send("undo"),
    w: () => { at("why").open = !at("why").open; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const [id, key] of Object.entries({ yes: "y", no: "n", unsure: "?", undo: "u" })) {
    at(id).addEventListener("click", () => actions[key]());
  }
  at("on").addEventListener("click", goOn);
  window.addEventListener("pagehide", () => {
    navigator.sendBeacon("release", new Blob([JSON.stringify({ tab })], { type: "application/json" }));
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload(); // its row was given away
  });
  send("next");
})();
