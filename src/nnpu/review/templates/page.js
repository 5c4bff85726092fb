"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const rows = data.rows;
  const answerColumn = data.header.indexOf("answer");
  const words = { yes: "yes", no: "no", "?": "don't know" };
  let state = { answers: rows.map(() => ""), place: 0, done: [] };
  let kept = true;

  function load() {
    try {
      const saved = JSON.parse(localStorage.getItem(data.key));
      const fits = saved && Array.isArray(saved.answers) && saved.answers.length === rows.length;
      if (fits && saved.answers.every((a) => a === "" || Object.hasOwn(words, a))) {
        const inside = (i) => Number.isInteger(i) && i >= 0 && i < rows.length;
        state.answers = saved.answers;
        state.place = inside(saved.place) ? saved.place : 0;
        state.done = Array.isArray(saved.done) ? saved.done.filter(inside) : [];
      }
    } catch {
      kept = false;
    }
  }

  function save() {
    try {
      localStorage.setItem(data.key, JSON.stringify(state));
      kept = true;
    } catch {
      kept = false;
    }
    at("kept").textContent = kept
      ? "Answers are kept in this browser until you export them."
      : "This browser keeps nothing: export before you close the tab.";
  }

  function cell(row, i) {
    const td = document.createElement("td");
    const picture = data.images[row]?.[i];
    if (picture) {
      const image = document.createElement("img");
      image.src = picture;
      image.alt = `${data.header[i]}: ${rows[row][i]}`;
      td.append(image);
    } else {
      td.textContent = rows[row][i];
      if (rows[row][i].length > 60 || rows[row][i].includes("\n")) td.className = "text";
    }
    return td;
  }

  function fill(body, row, columns) {
    body.replaceChildren(
      ...columns.map((i) => {
        const line = document.createElement("tr");
        const name = document.createElement("th");
        name.scope = "row";
        name.textContent = data.header[i];
        line.append(name, cell(row, i));
        return line;
      }),
    );
  }

  function show() {
    const answered = state.answers.filter((a) => a !== "").length;
    const here = state.answers[state.place];
    at("progress").max = rows.length;
    at("progress").value = answered;
    at("count").textContent = `${answered} of ${rows.length} answered`;
    at("title").textContent = `Row ${state.place + 1} of ${rows.length}`;
    at("given").textContent = here === "" ? "not answered yet" : `answered: ${words[here]}`;
    at("given").className = here === "" ? "muted" : "given";
    fill(at("cells"), state.place, data.shown);
    fill(at("model"), state.place, data.hidden);
    for (const answer of Object.keys(words)) {
      const name = answer === "?" ? "unsure" : answer;
      at(name).setAttribute("aria-pressed", String(here === answer));
    }
    at("undo").disabled = state.done.length === 0;
    at("back").disabled = state.place === 0;
    at("next").disabled = state.place === rows.length - 1;
    at("finished").hidden = answered < rows.length;
  }

  function go(place) {
    state.place = Math.min(Math.max(place, 0), rows.length - 1);
    save();
    show();
    document.querySelector("main").scrollTop = 0;
    at("spoken").textContent = at("title").textContent;
  }

  function give(answer) {
    if (state.answers[state.place] === "") state.done.push(state.place);
    state.answers[state.place] = answer;
    const later = state.answers.indexOf("", state.place + 1);
    const open = later >= 0 ? later : state.answers.indexOf("");
    go(open >= 0 ? open : state.place);
  }

  function undo() {
    if (state.done.length === 0) return;
    const place = state.done.pop();
    state.answers[place] = "";
    go(place);
  }

  function quoted(value, column) {
    const ours = ["answer", "probability", "chance", "review"].includes(data.header[column]);
    // What a spreadsheet would run as a formula gets an apostrophe; numbers stay.
    if (!ours && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value))) value = `'${value}`;
    return /[",;\t\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  }

  function exportSheet() {
    const lines = [data.header, ...rows.map((row, i) => {
      const copy = [...row];
      copy[answerColumn] = state.answers[i];
      return copy;
    })];
    const text = lines.map((line) => line.map((value, i) => quoted(value, i)).join(",") + "\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = data.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    at("spoken").textContent = `Exported ${data.file}`;
  }

  const actions = {
    y: () => give("yes"),
    n: () => give("no"),
    "?": () => give("?"),
    d: () => give("?"),
    u: undo,
    Backspace: undo,
    ArrowLeft: () => go(state.place - 1),
    ArrowRight: () => go(state.place + 1),
    e: exportSheet,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  const buttons = { yes: "y", no: "n", unsure: "?", undo: "u", back: "ArrowLeft", next: "ArrowRight", export: "e" };
  for (const [id, key] of Object.entries(buttons)) at(id).addEventListener("click", () => actions[key]());
  window.addEventListener("beforeunload", (event) => {
    if (!kept && state.answers.some((a) => a !== "")) event.preventDefault();
  });
  load();
  save();
  show();
})();
