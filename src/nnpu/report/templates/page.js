"use strict";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("page-data").textContent);

function startTheme() {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const dark = (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    button.textContent = dark ? "Light mode" : "Dark mode";
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
    const chosen = { ...explorer.tiles[step], flagged: explorer.flagged[step] };
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
  return (step) => {
    slider.value = step;
    say(show());
    slider.focus();
  };
}

function leastCost(found, alarm, miss) {
  const cost = found.alarms.map((alarms, step) => alarm * alarms + miss * found.misses[step]);
  const step = cost.indexOf(Math.min(...cost));
  const none = miss * found.positives;
  const all = alarm * (data.costs.population - found.positives);
  if (none <= Math.min(cost[step], all)) return { flag: "none" };
  if (all < cost[step]) return { flag: "all" };
  return { flag: "some", step, cost };
}

function startCosts(costs, explorer, moveTo) {
  const [alarm, miss] = ["cost-alarm", "cost-miss"].map(byId);
  const use = byId("cost-use");
  const count = (value) => value < 0.5 ? "hardly any" : `about ${Math.round(value).toLocaleString("en")}`;
  const at = (best) => best.flag === "some"
    ? `above ${explorer.thresholds[best.step]}` : `not needed: flag ${best.flag === "all" ? "every row" : "no row"}`;
  let step = explorer.start;

  function words(best, found) {
    const rows = `${costs.population.toLocaleString("en")} rows`;
    if (best.flag === "none") {
      return `At these costs it is cheapest to flag no row: of ${rows}, ${count(found.positives)} ` +
        "are positives that are missed then.";
    }
    if (best.flag === "all") return `At these costs it is cheapest to flag all ${rows}.`;
    const more = Math.round(100 * (best.cost[explorer.start] / best.cost[best.step] - 1));
    const own = best.step === explorer.start ? " This is the model's own threshold."
      : more > 0 && Number.isFinite(more) ? ` The model's own threshold costs ${more} % more.` : "";
    return `Least cost: flag rows with a score above ${explorer.thresholds[best.step]} ` +
      `(probability above ${explorer.probabilities[best.step]}). Of ${rows}, ` +
      `${count(found.alarms[best.step])} would be false alarms and ` +
      `${count(found.misses[best.step])} would be missed positives.${own}`;
  }

  function show() {
    const [a, m] = [alarm, miss].map((input) => input.value === "" ? NaN : Number(input.value));
    const sound = a >= 0 && m >= 0 && a + m > 0 && Number.isFinite(a + m);
    use.hidden = true;
    byId("cost-range").textContent = "";
    if (!sound) {
      byId("cost-answer").textContent = "Enter two costs that are not negative, one of them above zero.";
      return;
    }
    const [best, ...ends] = costs.priors.map((found) => leastCost(found, a, m));
    byId("cost-answer").textContent = words(best, costs.priors[0]);
    if (ends.length) {
      byId("cost-range").textContent = "The least cost over the range of the share of positives: " +
        ends.map((end, i) => `at ${costs.priors[i + 1].prior} the threshold is ${at(end)}`).join("; ") + ".";
    }
    if (best.flag === "some") {
      step = best.step;
      use.hidden = false;
    }
  }

  alarm.addEventListener("input", show);
  miss.addEventListener("input", show);
  use.addEventListener("click", () => moveTo(step));
  byId("cost-fields").hidden = false;
  show();
}

startTheme();
const moveTo = data.explorer && startExplorer(data.explorer);
if (data.costs) startCosts(data.costs, data.explorer, moveTo);
