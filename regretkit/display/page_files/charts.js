// Charts as SVG, drawn by hand: lines, the triangle of three actions, the tree of a game.
// Colours are classes a0, a1, ... (algorithms), c0, c1, ... (actions), p0, p1, ... (players).

/**
 * Return an HTML element. Functions become listeners, null and false attributes are left out, and
 * strings among the children become text, never markup.
 */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an SVG element, as `element` does. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter(child => child !== null));
  return node;
}

// Widths are read when they change: to read them while drawing would lay the page out each time.
const WIDTHS = new WeakMap();
const RESIZED = new ResizeObserver(entries => {
  for (const { target, contentRect } of entries) WIDTHS.set(target, contentRect.width);
  dispatchEvent(new Event("resize"));
});

function widthOf(node) {
  if (!WIDTHS.has(node)) {
    RESIZED.observe(node);
    WIDTHS.set(node, node.clientWidth);
  }
  return WIDTHS.get(node) || 360;
}

/** Return a number with at most three digits, and a true minus sign. */
function format(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(2)
    : size >= 1000 ? Math.round(value).toLocaleString("en")
    : String(+value.toPrecision(3));
  return text.replace(/-/g, "−");
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
function powerOfTen(exponent) {
  if (Math.abs(exponent) < 4) return format(10 ** exponent);
  return "10" + (exponent < 0 ? "⁻" : "") + [...String(Math.abs(exponent))].map(d => SUPERSCRIPT[d]).join("");
}

/** Return positions and labels of about `count` ticks between two numbers. */
function ticks([low, high], log, count) {
  if (log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const stride = Math.max(1, Math.ceil((last - first + 1) / count)), found = [];
    for (let e = first; e <= last; e += stride) found.push([10 ** e, powerOfTen(e)]);
    return found;
  }
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(f => f * power >= rough), first = Math.ceil(low / step - 1e-9);
  const values = Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => (first + k) * step);
  return values.map(value => [value, format(value)]);
}

/**
 * A chart of lines. `draw({lines, x, y, mark})`: lines have `points` as [x, y], a `look` of
 * classes, and a `name` that is written at their end; x and y are ranges, mark an x to point at.
 */
function lineChart({ label, height = 220, xLog = false, yLog = false, yTitle = "" }) {
  const picture = svg("svg", { class: "chart", role: "img", "aria-label": label });
  const node = element("figure", {}, element("figcaption", {}, label), picture);
  const draw = ({ lines, x, y, mark = null, summary = label }) => {
    const width = Math.max(240, widthOf(node)), names = lines.filter(line => line.name);
    const right = Math.min(width * 0.3, 14 + 6.6 * Math.max(0, ...names.map(line => line.name.length)));
    const [left, top, bottom] = [46, 8, 24], far = width - right, low = height - bottom;
    const place = (value, [a, b], log, from, to) => {
      const share = log ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a);
      return from + share * (to - from);
    };
    const px = value => place(value, x, xLog, left, far), py = value => place(value, y, yLog, low, top);
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("aria-label", summary);
    const parts = [];
    for (const [value, text] of ticks(y, yLog, 5)) {
      parts.push(svg("path", { class: "grid", d: `M${left} ${py(value)}H${far}` }));
      parts.push(svg("text", { class: "tick", x: left - 6, y: py(value) + 4, "text-anchor": "end" }, text));
    }
    for (const [value, text] of ticks(x, xLog, Math.min(6, width / 90)))
      parts.push(svg("text", { class: "tick", x: px(value), y: height - 6, "text-anchor": "middle" }, text));
    if (!yLog && y[0] < 0 && y[1] > 0) parts.push(svg("path", { class: "zero", d: `M${left} ${py(0)}H${far}` }));
    if (yTitle) parts.push(svg("text", { class: "tick", x: left + 4, y: top + 8 }, yTitle));
    if (mark !== null) parts.push(svg("path", { class: "mark", d: `M${px(mark)} ${top}V${low}` }));
    for (const { look, points } of lines)
      parts.push(svg("path", { class: `line ${look}`, d: pathOf(points, px, py, yLog) }));
    const ends = names.filter(line => line.points.length)
      .map(line => ({ line, at: py(line.points.at(-1)[1]) })).sort((a, b) => a.at - b.at);
    ends.forEach((end, k) => { if (k) end.at = Math.max(end.at, ends[k - 1].at + 13); });
    for (let k = ends.length - 1, lowest = low; k >= 0; k--) lowest = (ends[k].at = Math.min(ends[k].at, lowest)) - 13;
    for (const { line: { look, name }, at } of ends)
      parts.push(svg("text", { class: `name ${look}`, x: far + 6, y: at + 4 }, shortened(name, (right - 10) / 6.2)));
    picture.replaceChildren(...parts);
  };
  return { node, draw };
}

function pathOf(points, px, py, log = false) {
  let path = "", pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(y) || (log && y <= 0)) { pen = "M"; continue; }
    path += `${pen}${px(x).toFixed(1)} ${py(y).toFixed(1)}`;
    pen = "L";
  }
  return path;
}

function shortened(text, length) {
  return text.length <= length ? text : text.slice(0, Math.max(1, length - 1)) + "…";
}

/** The simplex of three actions. `draw({actions, current, average})`: paths of probabilities. */
function triangle(look) {
  const [width, height] = [300, 276], corners = [[150, 22], [278, 244], [22, 244]];
  const picture = svg("svg", { class: "triangle", role: "img", viewBox: `0 0 ${width} ${height}` });
  const at = p => [0, 1].map(d => corners.reduce((sum, corner, k) => sum + p[k] * corner[d], 0));
  const path = points => pathOf(points.map(at), x => x, y => y);
  const draw = ({ actions, current, average, summary }) => {
    const third = at([1 / 3, 1 / 3, 1 / 3]), parts = [svg("path", { class: "edge", d: `M${corners.join("L")}Z` })];
    for (const corner of corners) parts.push(svg("path", { class: "grid", d: `M${third}L${corner}` }));
    actions.forEach((action, k) => {
      const [x, anchor] = [[150, "middle"], [292, "end"], [8, "start"]][k];
      parts.push(svg("text", { class: "corner", x, y: k ? 264 : 12, "text-anchor": anchor }, shortened(action, 20)));
    });
    for (const [kind, points] of [[`thin ${look}`, current], ["thick halo", average], [`thick ${look}`, average]])
      parts.push(svg("path", { class: `line ${kind}`, d: path(points) }));
    for (const [points, radius, kind] of [[current, 5, "hollow"], [average, 6, "full"]]) {
      const [cx, cy] = at(points.at(-1));
      parts.push(svg("circle", { class: `dot ${kind} ${look}`, cx, cy, r: radius }));
    }
    picture.replaceChildren(...parts);
    picture.setAttribute("aria-label", summary);
  };
  return { node: picture, draw };
}

/**
 * The tree of a game, from top to bottom, with branches as thick as they are likely.
 * `draw({reach, point, choose})`: probabilities of nodes, the chosen [player, point], a callback.
 */
function gameTree(game) {
  const { nodes } = game, children = nodes.map(() => []), depth = nodes.map(() => 0), column = nodes.map(() => 0);
  nodes.forEach((node, k) => { if (k) { children[node.parent].push(k); depth[k] = depth[node.parent] + 1; } });
  const visit = [0], sequence = [];
  while (visit.length) {
    sequence.push(visit.pop());
    visit.push(...children[sequence.at(-1)].toReversed());
  }
  const order = sequence.filter(k => !children[k].length), levels = Math.max(...depth);
  order.forEach((k, place) => { column[k] = place; });
  for (const k of sequence.toReversed())
    if (children[k].length) column[k] = (column[children[k][0]] + column[children[k].at(-1)]) / 2;
  const most = Math.max(...order.map(k => Math.abs(nodes[k].payoffs[0])), 1e-300);
  const picture = svg("svg", { class: "tree", role: "img" });
  const node = element("div", { class: "scroll" }, picture);
  const draw = ({ reach, chosen, choose, summary }) => {
    const width = Math.max(widthOf(node), order.length * 7), row = Math.min(62, 320 / levels);
    const step = (width - 24) / order.length, flow = Math.min(70, width / 7), used = nodes.map(() => 0);
    const x = k => 12 + (column[k] + 0.5) * step, y = k => 18 + depth[k] * row;
    const branches = [], texts = [], marks = [];

    const branch = k => { // beside the branches of its parent's earlier children
      const { parent, edge } = nodes[k], { player } = nodes[parent], below = children[k];
      const from = x(parent) + flow * (used[parent] + reach[k] / 2 - reach[parent] / 2), middle = y(parent) + row / 2;
      const points = [[from, y(parent)], [from, middle], [x(k), middle], [x(k), y(k)]].map(point => point.map(Math.round));
      used[parent] += reach[k];
      branches.push(svg("path", {
        class: `branch p${player < 0 ? "x" : player % 6}`, d: `M${points[0]}C${points.slice(1).join(" ")}`,
        "stroke-width": Math.max(0.6, flow * reach[k]).toFixed(2),
      }));
      const place = { x: 0.65 * x(k) + 0.35 * from, y: y(k) - 0.3 * row, "text-anchor": "middle" };
      const span = below.length ? column[below.at(-1)] - column[below[0]] + 1 : 1;
      if (span * step > 6.2 * edge.length + 6) texts.push(svg("text", { class: "tick halo", ...place }, edge));
    };
    const leaf = k => { // a bar up or down from a line
      const [payoff] = nodes[k].payoffs, size = Math.max(1, 18 * Math.abs(payoff) / most), base = y(k) + 20;
      const half = Math.min(5, 0.35 * step), opacity = (0.25 + 0.75 * Math.min(1, 4 * reach[k])).toFixed(2);
      marks.push(svg("path", { class: "zero", d: `M${x(k) - half - 1} ${base}h${2 * half + 2}` }));
      const [look, top] = payoff < 0 ? ["loss", base] : ["gain", base - size];
      marks.push(svg("rect", {
        class: look, x: x(k) - half, y: top, width: 2 * half, height: size, opacity,
      }, svg("title", {}, `${game.players[0].name}: ${format(payoff)}`)));
    };
    const decision = k => {
      const { player, point } = nodes[k], here = player === chosen[0] && point === chosen[1];
      const { actions } = game.players[player].points[point], look = `node p${player % 6}${here ? " chosen" : ""}`;
      const onclick = () => choose([player, point]), title = `${nameOf(game, player, point)}: ${actions.join(", ")}`;
      marks.push(svg("circle", { class: look, cx: x(k), cy: y(k), r: here ? 7 : 4.5, onclick }, svg("title", {}, title)));
    };

    nodes.forEach(({ payoffs, player }, k) => {
      if (k) branch(k);
      if (payoffs) leaf(k);
      else if (player >= 0) decision(k);
      else marks.push(svg("rect", { class: "node px", x: x(k) - 4, y: y(k) - 4, width: 8, height: 8 }));
    });
    picture.setAttribute("viewBox", `0 0 ${width} ${78 + levels * row}`);
    picture.setAttribute("width", width);
    picture.setAttribute("aria-label", summary);
    picture.replaceChildren(...branches, ...texts, ...marks);
  };
  return { node, draw };
}

/** Return the name of an information set, with that of its player. */
function nameOf(game, player, point) {
  const { name, points } = game.players[player], label = points[point].label;
  return points.length === 1 && !label ? name : `${name}, ${label || "first move"}`;
}
