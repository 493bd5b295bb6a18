// The sections of a page that runs algorithms on a game. Each function below makes one, and
// returns its node and the function that draws it again.

/** Show runs of algorithms on a game. */
function showRuns(data, main) {
  const page = new Timeline(data), embedded = new URLSearchParams(location.hash.slice(1)).get("view") === "embed";
  const makers = embedded ? [controls, watch, bend] : [controls, watch, bend, compose, playHands, copy];
  const parts = makers.map(make => make(page)).filter(part => part);
  main.append(element("p", { class: "lead" }, lead(data)), ...parts.map(part => part.node));
  document.body.classList.toggle("embedded", embedded);
  page.draw = () => {
    const places = parts.map(({ node }) => node.getBoundingClientRect());
    parts.filter((_, k) => places[k].bottom > -100 && places[k].top < innerHeight + 100).forEach(({ draw }) => draw());
  };
  for (const event of ["resize", "scroll"]) addEventListener(event, () => page.wake(), { passive: true });
  addEventListener("hashchange", () => page.read(location.hash.slice(1)));
  addEventListener("keydown", event => {
    const keys = { " ": () => page.play(!page.playing), ArrowRight: () => page.seek(page.t + 1),
      ArrowLeft: () => page.seek(page.t - 1), Home: () => page.seek(0) };
    const taken = event.target.closest?.("input, select, textarea, button, a, summary");
    if (taken || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  page.read(location.hash.slice(1));
}

function lead({ game, algorithms }) {
  const names = algorithms.map(({ label }) => label), last = names.pop();
  const who = names.length ? `${names.join(", ")} and ${last} play, each` : `${last} plays`;
  const nash = game.constant !== null && game.players.length === 2;
  return `${who} against itself. Watch the strategies move${nash ? ", and their averages approach an equilibrium" : ""}.`;
}

function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

function choice(label, options, selected, onchange) {
  const select = element("select", { onchange: () => onchange(select.selectedIndex) },
    options.map((text, k) => element("option", { selected: k === selected }, text)));
  return element("label", { class: "field" }, element("span", {}, label), select);
}

function section(id, title, text, ...content) {
  return element("section", { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title), element("p", {}, text), ...content);
}

function controls(page) {
  const press = { id: "play", class: "primary", "aria-keyshortcuts": "Space" };
  const toggle = button("Play", () => page.play(!page.playing), press);
  const slide = { type: "range", id: "scrub", min: 0, "aria-label": "Iteration" };
  const slider = element("input", { ...slide, oninput: () => page.seek(+slider.value) });
  const time = element("output", { id: "time", for: "scrub" });
  const said = element("span", { class: "hidden", role: "status" });
  const speed = choice("Speed", SPEEDS.map(([text]) => text), 0, k => { page.speed = SPEEDS[k][1]; page.wake(); });
  const node = element("nav", { class: "controls", "aria-label": "Time" }, toggle,
    button("Step", () => page.seek(page.t + 1), { id: "step", "aria-keyshortcuts": "ArrowRight" }),
    button("Restart", () => page.seek(0), { id: "restart", "aria-keyshortcuts": "Home" }), time, slider, speed, said);
  const draw = () => {
    toggle.textContent = page.playing ? "Pause" : "Play";
    slider.max = Math.max(BEGIN, Math.ceil(page.reached));
    slider.value = page.t;
    time.textContent = `t = ${page.t.toLocaleString("en")}`;
    speed.querySelector("select").selectedIndex = SPEEDS.findIndex(([, value]) => value === page.speed);
    if (!page.playing && page.t >= page.goal) said.textContent = `Iteration ${page.t}. ${gapsOf(page)}`;
  };
  return { node, draw };
}

function gapsOf(page) {
  return page.tracks.map((track, k) => `${page.algorithms[k].label}: gap ${format(track.gap)}`).join(", ");
}

function watch(page) {
  const { game } = page, tree = drawsTree(game);
  const select = element("select", { id: "point", onchange: () => choose(select.value.split(".").map(Number)) },
    game.players.map(({ name, points }, i) => element("optgroup", { label: name },
      points.map((_, k) => element("option", { value: `${i}.${k}` }, nameOf(game, i, k))))));
  const choose = chosen => { page.chosen = chosen; page.wake(); };
  const columns = page.algorithms.map((algorithm, k) => column(page, algorithm, k, choose));
  const text = tree
    ? "Branches are as thick as the average strategies make them likely. Bars at the end show what "
      + `${game.players[0].name} wins or loses. Click a circle to see its information set.`
    : "The thin line is the path of the current strategy, the thick line that of its average.";
  const legend = game.players.map(({ name }, i) => element("span", { class: `p${i % 6}` }, name));
  const node = section("watch", "Watch", text,
    element("label", { class: "field" }, element("span", {}, game.matrix ? "Player" : "Information set"), select),
    tree ? element("p", { class: "legend" }, legend) : null,
    element("div", { class: "columns" }, columns.map(part => part.node)));
  const draw = () => {
    select.value = page.chosen.join(".");
    for (const part of columns) part.draw();
  };
  return { node, draw };
}

function drawsTree({ nodes, matrix }) {
  return Boolean(nodes) && !matrix && nodes.length <= 700;
}

/** One algorithm: the tree, and strategies and regrets at the chosen information set. */
function column(page, algorithm, k, choose) {
  const { label } = algorithm, look = `a${k % 6}`, numbers = element("p", { class: "numbers" }), at = element("h4");
  const tree = drawsTree(page.game) ? gameTree(page.game) : null, table = element("table", { class: "bars" });
  const three = triangle(look), paths = lineChart({ label: "Probabilities, thick: average", height: 190 });
  const regrets = lineChart({ label: "Regrets", height: 190 });
  const note = algorithm.recorded ? `The page plays back a run in Python: ${algorithm.reason}.` : "";
  const node = element("article", { "aria-label": label }, element("h3", { class: look }, label), numbers,
    element("p", { class: "note" }, note), tree && tree.node, tree && at,
    element("div", { class: "pictures" }, three.node, paths.node, regrets.node, table));
  const draw = () => {
    const { game, chosen, tracks } = page, track = tracks[k], { run } = track, [player] = chosen;
    const { actions, start, end } = actionsOf(game, chosen), name = nameOf(game, ...chosen);
    const values = run.values("average"), own = arrays => arrays[player].subarray(start, end);
    numbers.replaceChildren(...[["gap", track.gap], [`value for ${game.players[0].name}`, values && values[0]]]
      .map(([text, value]) => element("span", {}, `${text} `, element("b", {}, format(value)))));
    at.textContent = name;
    tree?.draw({ reach: run.reach("average"), chosen, choose, summary: `${label}: the tree at iteration ${run.t}` });
    const current = own(run.strategies), average = own(run.averages());
    const list = numbers => actions.map((action, a) => `${action} ${format(numbers[a])}`).join(", ");
    const summary = `${name}, ${label}: on average ${list(average)}`;
    three.node.toggleAttribute("hidden", actions.length !== 3);
    paths.node.hidden = actions.length === 3;
    if (actions.length === 3) {
      const averages = track.past(400).slice(1).map(record => own(record.average));
      three.draw({ actions, current: [...track.trail.map(own), current], average: [...averages, average], summary });
    }
    const past = track.past(300), x = [0, Math.max(10, run.t)];
    const lines = (kind, width, named) => actions.map((action, a) => ({
      points: past.map(record => [record.t, record[kind][player][start + a]]),
      look: `c${a % 6} ${width}`, name: named && action,
    }));
    const both = [...lines("current", "thin", false), ...lines("average", "thick", true)];
    if (actions.length !== 3) paths.draw({ x, y: [0, 1], lines: both, summary });
    bars(table, actions, current, average);
    regrets.node.hidden = !run.regrets;
    if (run.regrets) {
      const curves = lines("regrets", "even", true), all = curves.flatMap(({ points }) => points.map(([, y]) => y));
      const low = Math.min(0, ...all), high = Math.max(0, ...all), margin = 0.06 * (high - low) || 1;
      const said = `Regrets of ${name}, ${label}: ${list(own(run.regrets))}`;
      regrets.draw({ x, y: [low - margin, high + margin], lines: curves, summary: said });
    }
  };
  return { node, draw };
}

function bars(table, actions, current, average) {
  if (table.rows.length !== actions.length + 1) {
    const names = ["average", "current"].map(text => element("th", { scope: "col" }, text));
    const row = () => element("tr", {}, element("th", { scope: "row" }),
      element("td", {}, element("i"), element("i")), element("td"), element("td"));
    table.replaceChildren(element("tr", {}, element("td"), element("td"), names), ...actions.map(row));
  }
  actions.forEach((action, a) => {
    const [name, bar, ...numbers] = table.rows[a + 1].cells;
    name.textContent = action;
    [average, current].forEach((probabilities, k) => {
      bar.children[k].className = `c${a % 6}`;
      bar.children[k].style.width = `${100 * probabilities[a]}%`;
      numbers[k].textContent = probabilities[a].toFixed(3);
    });
  });
}

function bend(page) {
  const label = "Gap of the averages: what the players could gain by best responses";
  const chart = lineChart({ label, height: 320, xLog: true, yLog: true });
  const last = element("input", { type: "checkbox", id: "last", onchange: () => page.wake() });
  const settings = element("div", { class: "settings" }), still = element("p", { class: "note", role: "status" });
  const payoffs = page.game.matrix ? payoffTable(page) : null;
  const text = "The gap is zero at an equilibrium. Dashed lines are bounds from theorems. "
    + "Change how an algorithm works, and see what becomes of its gap.";
  const dotted = element("label", { class: "check" }, last, "gaps of the current strategies, dotted");
  const node = section("bend", "Bend", text,
    element("div", { class: "bend" }, element("div", {}, chart.node, dotted, still),
      element("div", {}, settings, payoffs && payoffs.node)));
  let made = 0;
  const draw = () => {
    if (made !== page.made) {
      settings.replaceChildren(...page.algorithms.map((algorithm, k) => settingsOf(page, algorithm, k)));
      payoffs?.draw();
      made = page.made;
    }
    const lines = page.tracks.flatMap((track, k) => {
      const records = sparse(track.records.slice(1)), { label } = page.algorithms[k];
      const line = (kind, look, name) => {
        const points = records.map(record => [record.t, record[kind]]).filter(([, value]) => value > 1e-15);
        return { points, look: `a${k % 6} ${look}`, name };
      };
      return [line("bound", "bound"), ...last.checked ? [line("last", "dotted")] : [], line("gap", "even", label)];
    });
    const values = lines.flatMap(({ points }) => points.map(([, value]) => value));
    const low = values.length ? Math.min(...values) : 0.1, high = values.length ? Math.max(...values) : 1;
    chart.draw({ lines, x: [1, Math.max(10, page.reached)], y: [low / 1.3, high * 1.3], mark: Math.max(1, page.t),
      summary: `Gaps at iteration ${page.t}. ${gapsOf(page)}` });
    const moves = page.t === 0 || page.tracks.some(({ gap }) => gap > 1e-12);
    const cure = payoffs ? " Change a payoff." : "";
    still.textContent = moves ? "" : `Nothing moves: the first strategies are an equilibrium.${cure}`;
  };
  return { node, draw };
}

/** Return records that are evenly spaced on a logarithmic axis. */
function sparse(records) {
  let next = 0;
  return records.filter(({ t }, k) => {
    if (t < next && k < records.length - 1) return false;
    next = t * 1.02;
    return true;
  });
}

/** The hyperparameters, the average and the order of an algorithm. */
function settingsOf(page, { label, choices, averagings, orders }, k) {
  const set = page.settings[k], change = (object, name, value) => { object[name] = value; page.restart(); };
  const sliders = Object.entries(choices ?? {}).map(([name, { values }]) => {
    const shown = element("output", {}, String(values[set.stops[name]])), say = () => {
      shown.textContent = String(values[slider.value]);
      slider.setAttribute("aria-valuetext", shown.textContent);
    };
    const slider = element("input", { type: "range", min: 0, max: values.length - 1, value: set.stops[name],
      oninput: say, onchange: () => change(set.stops, name, +slider.value) });
    say();
    return element("label", { class: "field" }, element("span", {}, name), slider, shown);
  });
  const lists = [["Average", "averaging", averagings], ["Order", "order", orders]]
    .filter(([, , options]) => options?.length > 1)
    .map(([text, name, options]) =>
      choice(text, options.map(option => option.label), set[name], to => change(set, name, to)));
  const legend = element("legend", { class: `a${k % 6}` }, label);
  return element("fieldset", { hidden: !sliders.length && !lists.length }, legend, sliders, lists);
}

function payoffTable(page) {
  const { players } = page.game, [rows, columns] = players.map(({ points }) => points[0].actions);
  const zeroSum = page.game.constant !== null, table = element("table", { class: "payoffs" });
  const change = matrix => { setPayoffs(page.game, matrix); page.restart(); };
  const cell = (r, c, player) => element("input", { type: "number", step: "any", value: page.game.matrix[r][c][player],
    "aria-label": `Payoff of ${players[player].name} for ${rows[r]}, ${columns[c]}`,
    onchange: ({ target }) => {
      const value = target.valueAsNumber, matrix = structuredClone(page.game.matrix);
      if (!Number.isFinite(value) || Math.abs(value) > 1e9) { target.value = matrix[r][c][player]; return; }
      matrix[r][c][player] = value;
      if (zeroSum) matrix[r][c][1 - player] = page.game.constant - value;
      change(matrix);
    } });
  const reset = button("Reset payoffs", () => change(structuredClone(page.data.game.matrix)), { id: "reset" });
  const draw = () => {
    const at = [...table.querySelectorAll("input")].indexOf(document.activeElement);
    table.replaceChildren(
      element("caption", {}, `Payoffs of ${players.slice(0, zeroSum ? 1 : 2).map(({ name }) => name).join(" and ")}`),
      element("tr", {}, element("td"), columns.map(name => element("th", { scope: "col" }, name))),
      ...rows.map((name, r) => element("tr", {}, element("th", { scope: "row" }, name),
        columns.map((_, c) => element("td", {}, cell(r, c, 0), zeroSum ? null : cell(r, c, 1))))));
    if (at >= 0) table.querySelectorAll("input")[at].focus();
  };
  return { node: element("div", { class: "scroll" }, table, reset), draw };
}

/** The circuit of an algorithm, with the regret and the bound of each part. */
function compose(page) {
  const known = page.algorithms.filter(({ circuit }) => circuit);
  if (!known.length) return null;
  let algorithm = known[0], shown = null, built = null;
  const diagram = element("div", { class: "circuit scroll" }), details = element("div", { class: "details" });
  const sums = element("div", { class: "columns" }), why = element("p", { class: "why" });
  const node = section("compose", "Compose",
    "An algorithm is a circuit of minimizers. Each part has its own utilities and regrets. "
    + "The regret of a player is at most the sum of the positive regrets of its parts. Click a part.",
    choice("Algorithm", known.map(({ label }) => label), 0, k => { algorithm = known[k]; page.wake(); }),
    element("div", { class: "sides" }, diagram, details), sums, why);
  const show = part => { shown = part; built = null; page.wake(); };
  const box = part => element("li", {},
    button(element("b", {}, part.name), () => show(part), { class: "part", "aria-pressed": String(part === shown) }),
    part.parts.length ? element("ul", {}, part.parts.map(box)) : null);
  const build = () => {
    const all = algorithm.circuit.flatMap(partsOf), isPoint = ({ point }) => point !== null && point !== undefined;
    if (!all.includes(shown)) shown = all.find(isPoint) ?? all[0];
    diagram.replaceChildren(element("ul", {}, algorithm.circuit.map(box)));
    all.forEach((part, k) => diagram.querySelectorAll("button")[k].append(
      element("span", {}, [part.role, part.place].filter(text => text).join(": "))));
    built = algorithm;
  };
  const draw = () => {
    if (built !== algorithm) build();
    const track = page.tracks[page.algorithms.indexOf(algorithm)], { run } = track, { game } = page;
    const { player, point } = shown;
    const local = point !== null && point !== undefined;
    details.replaceChildren(element("h3", {}, local ? nameOf(game, player, point) : shown.name),
      ...local ? localTable(game, run, shown) : [element("p", {}, shown.place)]);
    const find = (i, k) => algorithm.circuit.flatMap(partsOf).find(part => part.player === i && part.point === k);
    const bars = game.players.map((_, i) => sumOf(game, run, i, k => show(find(i, k) ?? shown)));
    sums.replaceChildren(...bars.filter(bar => bar));
    why.textContent = adding(game, track);
  };
  return { node, draw };
}

/** Why averages approach an equilibrium, in numbers. */
function adding(game, { run, gap }) {
  const own = game.players.map((_, player) => run.regret(player));
  if (game.constant === null || own.length !== 2 || own.includes(null) || !run.t) return "";
  const sum = `(${own.map(format).join(" + ")}) / ${format(run.t)} = ${format(total(own) / run.t)}`;
  return `Both regrets, divided by the number of iterations: ${sum.replace("+ −", "− ")}. `
    + "This is the gap of uniform averages if both players update at the same time. "
    + `The gap shown above is ${format(gap)}. It vanishes because regrets grow more slowly than the iterations.`;
}

const partsOf = part => [part, ...part.parts.flatMap(partsOf)];

function localTable(game, run, { player, point, name, place }) {
  const { actions, start, end } = actionsOf(game, [player, point]), part = run.parts(player)?.[point];
  const rows = [["strategy", run.strategies], ["utility", run.utilities], ["regret", run.regrets]];
  const cells = arrays => [...arrays[player].subarray(start, end)].map(value => element("td", {}, format(value)));
  const row = ([label, arrays]) => element("tr", {}, element("th", { scope: "row" }, label), cells(arrays));
  const bound = part && part.bound !== null ? `, at most ${format(part.bound)} by its theorem` : "";
  return [
    element("p", {}, `${name}, ${place}`),
    element("table", {},
      element("tr", {}, element("td"), actions.map(action => element("th", { scope: "col" }, action))),
      rows.filter(([, arrays]) => arrays).map(row)),
    element("p", {}, part ? ["Regret ", element("b", {}, format(part.regret)), `${bound}.`] : []),
  ];
}

/** The positive regrets of a player's parts in a row, and the player's own regret below. */
function sumOf(game, run, player, choose) {
  const parts = run.parts(player), own = run.regret(player);
  if (!parts || own === null) return null;
  const regrets = parts.map(({ regret }) => Math.max(0, regret)), sum = total(regrets);
  const widest = Math.max(sum, own, 1e-12);
  const piece = (regret, look, more) => {
    const bar = element("i", { class: look, ...more });
    bar.style.width = `${100 * Math.max(0, regret) / widest}%`;
    return bar;
  };
  return element("div", { class: "sum" }, element("h4", {}, game.players[player].name),
    element("p", {}, "positive regrets of its parts, summed ", element("b", {}, format(sum))),
    element("div", { class: "stack" }, regrets.map((regret, k) => piece(regret, `c${k % 6}`,
      { title: `${nameOf(game, player, k)}: ${format(regret)}`, onclick: () => choose(k) }))),
    element("p", {}, "its own regret ", element("b", {}, format(own))),
    element("div", { class: "stack" }, piece(own, "own")));
}

/** The link, the command and the rules. */
function copy(page) {
  const { version, command } = page.data, link = copyable("Link to this page with all your choices", "");
  const rules = page.algorithms.map(({ label, command, source }, k) => element("details", {},
    element("summary", { class: `a${k % 6}` }, label),
    command ? copyable(`Run ${label}`, command).node : null, source ? copyable(`Source of ${label}`, source).node : null));
  link.node.hidden = location.protocol === "about:"; // in a notebook
  const node = section("copy", "Copy", "Take it with you.", link.node,
    command ? copyable("Command that makes this page", command).node : null, rules,
    element("p", { class: "made" }, `Made with regretkit ${version}. This page needs no network.`));
  return { node, draw: () => { if (!page.playing) link.set(`${location.href.split("#")[0]}#${page.fragment()}`); } };
}

function copyable(label, text) {
  const lines = text.split("\n").length, rows = Math.min(24, lines);
  const common = { readonly: true, spellcheck: "false", "aria-label": label, onfocus: () => field.select() };
  const field = lines > 1 ? element("textarea", { ...common, rows }, text) : element("input", { ...common, value: text });
  const press = button("Copy", () => {
    field.select();
    document.execCommand("copy"); // unlike navigator.clipboard, it works in files and in frames
    press.textContent = "Copied";
    setTimeout(() => { press.textContent = "Copy"; }, 1500);
  }, { "aria-label": `Copy: ${label}` });
  const set = value => { if (field.value !== value) field.value = value; };
  return { node: element("div", { class: "copied" }, element("span", {}, label), field, press), set };
}

const DATA = JSON.parse(document.querySelector("#data").textContent), MAIN = document.querySelector("main");
MAIN.append(element("h1", {}, DATA.title));
if (DATA.solution) showSolution(DATA.solution, MAIN);
else showRuns(DATA, MAIN);
// A page in a frame of its own site is as high as it needs to be.
if (window.frameElement) {
  const fit = () => { window.frameElement.style.height = `${MAIN.offsetHeight + 40}px`; };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(MAIN);
}
