// A profile to look at: public nodes with a grid of hands, or a list of information sets.
"use strict";

const CHANCE = -1, TERMINAL = -2, LOCKED = -3;
const RANKS = "AKQJT98765432";

/** Show DATA.solution in `main`; see display/_solution.py for its form. */
function showSolution(solution, main) {
  main.append(
    element("dl", { class: "facts" }, solution.facts.map(([name, fact]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, fact)))),
    solution.tree ? publicTree(solution.tree) : informationSets(solution.sets));
}

const percent = (share) => share === null ? "–" : `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
const chips = (value) => value === null ? "–" : value.toFixed(Math.abs(value) < 10 ? 2 : 1);

// Public nodes

/** The public tree, one node at a time: the path, the next actions, and the node's hands. */
function publicTree(nodes) {
  const children = nodes.map(() => []);
  nodes.forEach((node, k) => { if (node.parent >= 0) children[node.parent].push(k); });
  const view = element("section", { class: "public", "aria-live": "polite" });
  const chosen = { mode: "strategy", cell: null };

  function show(k) {
    const node = nodes[k], report = node.report;
    view.replaceChildren(breadcrumbs(k), turn(k));
    if (report) view.append(hands(report, chosen, () => show(k)));
    else if (node.player >= 0) {
      view.append(element("p", { class: "note" }, "The hands of this node are not in this page."));
    }
  }

  function breadcrumbs(k) {
    const path = [];
    for (let at = k; at >= 0; at = nodes[at].parent) path.unshift(at);
    return element("nav", { class: "path", "aria-label": "path" }, path.map((at) =>
      element("button", { "aria-current": at === k ? "step" : null, onclick: () => show(at) },
        nodes[at].edge || "root")));
  }

  function turn(k) {
    const node = nodes[k], report = node.report;
    const who = node.player >= 0 ? `player ${node.player} to act`
      : node.player === CHANCE ? "the next card" : node.note;
    const shares = report ? report.frequencies : [];
    return element("div", { class: "turn" },
      element("h2", {}, node.player === LOCKED ? `${node.note} ` : who,
        node.player === LOCKED ? element("span", { class: "badge" }, "locked") : null),
      element("div", { class: "choices" }, children[k].map((child, action) =>
        element("button", { onclick: () => show(child) },
          report ? swatch(report.actions, action) : null, nodes[child].edge,
          shares[action] == null ? null
            : element("b", {}, ` ${percent(shares[action])}`)))));
  }

  show(0);
  return view;
}

/** The color of an action: folds blue, checks and calls green, bets and raises from orange to red. */
function colorOf(actions, action) {
  const name = actions[action];
  if (name === "fold") return "var(--fold)";
  if (name === "check" || name === "call") return "var(--call)";
  const bets = actions.filter((other) => !["fold", "check", "call"].includes(other));
  const share = bets.length < 2 ? 0.5 : bets.indexOf(name) / (bets.length - 1);
  return `hsl(${30 - 24 * share} 85% ${62 - 20 * share}%)`;
}

function swatch(actions, action) {
  const box = element("i", { class: "swatch", "aria-hidden": "true" });
  box.style.background = colorOf(actions, action);
  return box;
}

/** A node's hands: the grid by ranks, and the hands of the chosen cell. */
function hands(report, chosen, again) {
  const cells = new Map();
  report.hands.forEach((hand, k) => {
    const cell = cellOf(hand);
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(k);
  });
  const modes = [["strategy", "Strategy"], ["ev", "EV"], ["equity", "Equity"], ["weight", "Range"]];
  const choice = element("div", { class: "modes", role: "group", "aria-label": "show" },
    modes.map(([mode, label]) => element("button", {
      "aria-pressed": String(chosen.mode === mode),
      onclick: () => { chosen.mode = mode; again(); },
    }, label)));
  const largest = Math.max(1e-12, ...[...cells.values()].map((own) => summed(report.weight, own) / own.length));
  const scale = extent(report.ev);
  const grid = element("div", { class: "cells", role: "grid", "aria-label": "hands by ranks" });
  for (let row = 0; row < 13; row++) {
    const line = element("div", { role: "row" });
    for (let column = 0; column < 13; column++) line.append(gridCell(row, column));
    grid.append(line);
  }

  function gridCell(row, column) {
    const name = cellName(row, column), own = cells.get(name) || [], weight = summed(report.weight, own);
    const box = element("button", {
      role: "gridcell", class: "cell", disabled: own.length === 0,
      "aria-pressed": String(chosen.cell === name), "aria-label": describe(name, own, weight),
      onclick: () => { chosen.cell = chosen.cell === name ? null : name; again(); },
    });
    const paint = element("span", { class: "paint" });
    paint.style.height = `${100 * weight / Math.max(1, own.length) / largest}%`;
    if (weight > 0) paint.style.background = background(own, weight);
    box.append(paint, element("span", { class: "name" }, name));
    const text = value(own, weight);
    if (text) box.append(element("span", { class: "value" }, text));
    return box;
  }

  function mean(column, own) {
    const known = own.filter((k) => column[k] !== null && report.weight[k] > 0);
    const weight = summed(report.weight, known);
    return weight > 0 ? known.reduce((sum, k) => sum + report.weight[k] * column[k], 0) / weight : null;
  }
  function shares(own, weight) {
    return report.actions.map((_, a) =>
      own.reduce((sum, k) => sum + report.weight[k] * (report.strategy[k][a] || 0), 0) / weight);
  }
  function background(own, weight) {
    if (chosen.mode === "strategy") {
      let at = 0;
      const stops = shares(own, weight).map((share, a) => {
        const color = colorOf(report.actions, a), from = at;
        at += 100 * share;
        return `${color} ${from}% ${at}%`;
      });
      return `linear-gradient(90deg, ${stops.join(", ")})`;
    }
    if (chosen.mode === "weight") return "var(--call)";
    const level = mean(report[chosen.mode], own);
    if (level === null) return "var(--empty)";
    const [low, high] = chosen.mode === "equity" ? [0, 1] : scale;
    const share = (level - low) / Math.max(1e-12, high - low);
    return `hsl(${210 - 180 * share} 55% 60%)`;
  }
  function value(own, weight) {
    if (!own.length || weight <= 0 || chosen.mode === "strategy") return "";
    if (chosen.mode === "weight") return percent(weight / own.length);
    const level = mean(report[chosen.mode], own);
    return chosen.mode === "equity" ? percent(level) : chips(level);
  }
  function describe(name, own, weight) {
    if (!own.length || weight <= 0) return `${name}: not in the range`;
    const played = shares(own, weight).map((share, a) => `${report.actions[a]} ${percent(share)}`);
    return `${name}: ${played.join(", ")}; EV ${chips(mean(report.ev, own))}, ` +
      `equity ${percent(mean(report.equity, own))}`;
  }

  const shown = chosen.cell === null ? report.hands.map((_, k) => k) : cells.get(chosen.cell) || [];
  return element("div", { class: "hands" }, element("div", {}, choice, grid), combos(report, shown));
}

/** The table of some hands, first those with the largest weight, then those with the largest EV. */
function combos(report, shown) {
  const most = 60;
  const rows = [...shown].sort((a, b) =>
    report.weight[b] - report.weight[a] || report.ev[b] - report.ev[a]);
  const head = ["hand", "weight", "equity", "EV", ...report.actions];
  return element("div", { class: "combos" },
    element("table", {},
      element("thead", {}, element("tr", {}, head.map((name, k) =>
        element("th", { scope: "col" }, k > 3 ? swatch(report.actions, k - 4) : null, name)))),
      element("tbody", {}, rows.slice(0, most).map((k) => element("tr", {},
        element("th", { scope: "row" }, ...cards(report.hands[k])),
        element("td", {}, percent(report.weight[k])),
        element("td", {}, percent(report.equity[k])),
        element("td", {}, chips(report.ev[k])),
        report.actions.map((_, a) => element("td", {}, percent(report.strategy[k][a]),
          element("small", {}, ` ${chips(report.evs[k][a])}`))))))),
    rows.length > most
      ? element("p", { class: "note" }, `The first ${most} of ${rows.length} hands. Choose a cell for its hands.`)
      : element("p", { class: "note" }, "Small numbers are the EV of each action, in chips."));
}

const SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" };

function cards(hand) {
  return [0, 2].map((k) => element("span", { class: `card suit-${hand[k + 1]}` },
    hand[k] + SUITS[hand[k + 1]]));
}

/** The name of a hand's cell, such as AKs. */
function cellOf(hand) {
  const [high, low] = [RANKS.indexOf(hand[0]), RANKS.indexOf(hand[2])].sort((a, b) => a - b);
  return hand[1] === hand[3] ? cellName(high, low) : cellName(low, high);
}

function cellName(row, column) {
  const high = RANKS[Math.min(row, column)], low = RANKS[Math.max(row, column)];
  return high + low + (row === column ? "" : row < column ? "s" : "o");
}

const summed = (column, own) => own.reduce((sum, k) => sum + column[k], 0);

function extent(column) {
  const known = column.filter((x) => x !== null);
  return [Math.min(...known), Math.max(...known)];
}

// Information sets

/** A searchable list of the information sets of each player. */
function informationSets(players) {
  const most = 200;
  const state = { player: 0, text: "", order: "game", after: null };
  const list = element("div", { class: "sets", "aria-live": "polite" });
  const search = element("input", {
    type: "search", placeholder: "label", "aria-label": "search labels",
    oninput: (event) => { state.text = event.target.value; show(); },
  });
  const order = element("select", {
    "aria-label": "order", onchange: (event) => { state.order = event.target.value; show(); },
  }, [["game", "order of the game"], ["reach", "most reached first"], ["mixed", "most mixed first"]]
    .map(([value, text]) => element("option", { value }, text)));
  const tabs = element("div", { class: "modes", role: "group", "aria-label": "player" });

  function show() {
    tabs.replaceChildren(...players.map((_, player) => element("button", {
      "aria-pressed": String(player === state.player),
      onclick: () => { state.player = player; state.after = null; show(); },
    }, `player ${player}`)));
    const sets = players[state.player];
    let found = sets.map((_, k) => k);
    if (state.after !== null) found = found.filter((k) => follows(sets, k, state.after));
    if (state.text) found = found.filter((k) => sets[k].label.includes(state.text));
    if (state.order === "reach") found.sort((a, b) => sets[b].reach - sets[a].reach);
    if (state.order === "mixed") found.sort((a, b) => entropy(sets[b]) - entropy(sets[a]));
    const count = found.length > most ? `the first ${most} of ${found.length}` : `${found.length}`;
    const nouns = found.length === 1 ? "information set" : "information sets";
    list.replaceChildren(
      element("p", { class: "note" }, `${count} ${nouns}`, state.after === null ? null
        : element("button", { onclick: () => { state.after = null; show(); } },
          `after ${sets[state.after[0]].label}: ${sets[state.after[0]].actions[state.after[1]]}  ×`)),
      ...found.slice(0, most).map((k) => row(sets, k)));
  }

  function row(sets, k) {
    const set = sets[k];
    const bars = set.actions.map((action, a) => {
      const share = set.strategy[a], bar = element("span", { class: "bar" });
      bar.style.width = `${100 * share}%`;
      return element("button", {
        class: "choice", title: "the player's next information sets",
        onclick: () => { state.after = [k, a]; show(); },
      }, bar, element("span", {}, action), element("b", {}, share.toFixed(4)));
    });
    return element("article", { class: set.reach > 0 ? "set" : "set unreached" },
      element("h3", {}, set.label, element("small", {},
        set.reach > 0 ? ` reach ${percent(set.reach)}` : " never reached")),
      element("div", { class: "choices" }, bars));
  }

  show();
  return element("section", {}, element("div", { class: "search" }, tabs, search, order), list);
}

/** Whether information set k comes directly after an action, a pair of a set and a number. */
function follows(sets, k, [set, action]) {
  return sets[k].after !== null && sets[k].after[0] === set && sets[k].after[1] === action;
}

function entropy(set) {
  if (set.reach <= 0) return -1;
  return set.strategy.reduce((sum, p) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
}
