"use strict";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("page-data").textContent);

function startTheme() {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const dark = (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    button.setAttribute("aria-pressed", String(dark));
    return dark;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = show() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

function startExplorer(explorer) {
  const slider = byId("threshold");
  const reset = byId("reset");
  const write = (id, text) => { byId(id).textContent = text; };

  function show() {
    const step = Number(slider.value);
    const score = explorer.thresholds[step];
    explorer.cells.forEach((rows, prior) => {
      for (const [name, [value, interval]] of Object.entries(rows[step])) {
        write(`prior-${prior}-${name}`, value);
        write(`prior-${prior}-${name}-interval`, interval);
      }
    });
    const chosen = { ...explorer.cells[0][step], flagged: explorer.flagged[step] };
    for (const [name, [value, interval]] of Object.entries(chosen)) {
      write(`tile-${name}`, value);
      write(`tile-${name}-interval`, interval);
    }
    write("at-score", score);
    write("at-probability", explorer.probabilities[step]);
    byId("at-own").hidden = step !== explorer.start;
    reset.disabled = step === explorer.start;
    slider.setAttribute("aria-valuetext", `score above ${score}`);
    for (const [chart, places] of Object.entries(explorer.markers)) {
      const marker = byId(`${chart}-marker`);
      marker.setAttribute("x1", places[step]);
      marker.setAttribute("x2", places[step]);
    }
    return chosen;
  }

  function say(chosen) {
    write("spoken", `Precision ${chosen.precision[0]}, recall ${chosen.recall[0]}, ` +
      `F1 ${chosen.f1[0]}, ${chosen.flagged[0]} rows flagged.`);
  }

  slider.addEventListener("input", () => say(show()));
  reset.addEventListener("click", () => {
    slider.value = explorer.start;
    say(show());
    slider.focus();
  });
  reset.hidden = false;
  slider.value = explorer.start;
  show();
}

startTheme();
if (data.explorer) startExplorer(data.explorer);
