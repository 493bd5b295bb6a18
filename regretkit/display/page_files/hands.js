// Play: hands against an average strategy, with an account of luck and of mistakes.

const TURNS = [1, 10, 100, 1000]; // iterations of the strategies to play against

/** The other players with average strategies, and a best response to them. */
class Opponent {
  constructor(game, run, seat) {
    const { nodes } = game, { strategy, value } = run.response(seat, "average");
    Object.assign(this, { game, seat, value, best: Float64Array.from(strategy) });
    this.average = run.averages().map(array => Float64Array.from(array));
    this.children = nodes.map(() => []);
    nodes.forEach(({ parent }, k) => { if (k) this.children[parent].push(k); });
    this.reach = new Float64Array(nodes.length).fill(1); // by chance and the others
    this.values = new Float64Array(nodes.length); // of the best response from a node on
    nodes.forEach(({ player }, k) => this.children[k].forEach((child, a) => {
      this.reach[child] = this.reach[k] * (player === seat ? 1 : this.probability(k, a));
    }));
    for (let k = nodes.length - 1; k >= 0; k--) {
      const own = nodes[k].player === seat, { payoffs } = nodes[k];
      const worth = (child, a) => this.values[child] * (own ? this.best[this.start(k) + a] : this.probability(k, a));
      this.values[k] = payoffs ? payoffs[seat] : total(this.children[k].map(worth));
    }
  }

  /** Return where the actions of a node are in its player's arrays. */
  start(k) {
    const { player, point } = this.game.nodes[k];
    return this.game.players[player].points[point].first;
  }

  /** Return the probability of a child of a node of chance or of another player. */
  probability(k, a) {
    const { player } = this.game.nodes[k];
    return player < 0 ? this.game.nodes[this.children[k][a]].chance : this.average[player][this.start(k) + a];
  }

  /** Return what an action loses in expectation, by what its player knows at a node. */
  loss(node, action) {
    const { nodes } = this.game, { player, point } = nodes[node];
    const same = [...nodes.keys()].filter(k => nodes[k].player === player && nodes[k].point === point);
    const weight = total(same.map(k => this.reach[k]));
    const lost = total(same.map(k => this.reach[k] * (this.values[k] - this.values[this.children[k][action]])));
    return weight ? Math.max(0, lost / weight) : 0;
  }

  /** Return a new hand, at the first node where the person moves. */
  deal() {
    const hand = new Hand(this);
    hand.forward();
    return hand;
  }
}

/** One hand. The best response would meet the same cards and the same moves. */
class Hand {
  constructor(opponent) {
    Object.assign(this, { opponent, node: 0, depth: 0, lost: 0, said: [], drawn: new Map() });
  }

  get payoffs() {
    return this.opponent.game.nodes[this.node].payoffs;
  }

  /** Take an action of the person, and go on to the next choice. */
  act(action) {
    this.lost += this.opponent.loss(this.node, action);
    this.enter(action, "you: ");
    this.forward();
  }

  /** Go to a child of the node. */
  enter(action, who) {
    this.node = this.opponent.children[this.node][action];
    this.depth += 1;
    this.said.push(who + this.opponent.game.nodes[this.node].edge);
  }

  /** Let chance and the other players move, and the best response as well if it plays. */
  forward(best = null) {
    const { game, seat } = this.opponent;
    while (!this.payoffs) {
      const { player } = game.nodes[this.node];
      if (player === seat && !best) return;
      this.enter(player === seat ? this.answer(best) : this.draw(), player < 0 ? "" : `${game.players[player].name}: `);
    }
  }

  answer(best) {
    const start = this.opponent.start(this.node);
    return this.opponent.children[this.node].findIndex((_, a) => best[start + a] > 0.5);
  }

  /** Draw a move; at one information set it is the same in the whole hand. */
  draw() {
    const { opponent, node, drawn } = this, { player, point } = opponent.game.nodes[node];
    const key = player < 0 ? `chance ${this.depth}` : `${player} ${point}`, last = opponent.children[node].length - 1;
    if (!drawn.has(key)) drawn.set(key, Math.random());
    let left = drawn.get(key), a = 0;
    while (a < last && (left -= opponent.probability(node, a)) >= 0) a++;
    return a;
  }

  /** Return what the best response would have won in this hand. */
  get best() {
    const other = Object.assign(new Hand(this.opponent), { drawn: this.drawn });
    other.forward(this.opponent.best);
    return other.payoffs[this.opponent.seat];
  }
}

function playHands(page) {
  if (!page.game.nodes) return null;
  const set = { algorithm: 0, seat: 0, turns: TURNS[2] };
  const table = element("div", { class: "table", "aria-live": "polite" });
  const account = element("dl", { class: "account" });
  const trained = TURNS.map(turns => button(turns.toLocaleString("en"), () => sit({ turns }), { class: "turns" }));
  const players = page.game.players.map(({ name }) => name), algorithms = page.algorithms.map(({ label }) => label);
  const node = section("hands", "Play", "Play against the average strategy of an algorithm after some iterations.",
    element("div", { class: "fields" },
      choice("Against", algorithms, 0, algorithm => sit({ algorithm })),
      choice("You are", players, 0, seat => sit({ seat })),
      element("div", { class: "field", role: "group", "aria-label": "Iterations of the strategy" },
        element("span", {}, "after"), trained, element("span", {}, "iterations"))),
    element("div", { class: "sides" }, table, account));
  let made = 0, sitting = null;

  /** Train the opponent, and begin an account. */
  async function sit(chosen) {
    Object.assign(set, chosen);
    const { game, algorithms, settings } = page, own = sitting = {};
    trained.forEach((each, k) => each.setAttribute("aria-pressed", TURNS[k] === set.turns));
    table.replaceChildren(element("p", {}, "The algorithm trains …"));
    const run = startRun(game, algorithms[set.algorithm], settings[set.algorithm]);
    while (run.t < set.turns && sitting === own) {
      for (const end = performance.now() + 12; run.t < set.turns && performance.now() < end;) run.step();
      await new Promise(requestAnimationFrame);
    }
    if (sitting !== own) return;
    const opponent = new Opponent(game, run, set.seat), sum = { hands: 0, won: 0, expected: 0, lost: 0, best: 0 };
    show(sum);
    deal(opponent, sum, element("p", {}, `A best response wins ${format(opponent.value)} a hand on average.`));
  }

  function deal(opponent, sum, before) {
    const hand = opponent.deal();
    if (hand.payoffs) return table.replaceChildren(element("p", {}, "You have no choice in this game."));
    ask(opponent, sum, hand, before);
  }

  function ask(opponent, sum, hand, before) {
    const { game, seat } = opponent, { actions, label } = game.players[seat].points[game.nodes[hand.node].point];
    const see = game.matrix ? "Your choice:" : `You see: ${label || "nothing yet"}`;
    table.replaceChildren(before, element("p", { class: "see" }, see),
      element("div", { class: "actions" }, actions.map((name, a) => button(name, () => {
        hand.act(a);
        if (hand.payoffs) end(opponent, sum, hand);
        else ask(opponent, sum, hand, before);
        table.querySelector("button").focus({ preventScroll: true });
      }, { class: "primary" }))));
  }

  function end(opponent, sum, hand) {
    const won = hand.payoffs[opponent.seat];
    sum.hands += 1;
    sum.won += won;
    sum.expected += opponent.value;
    sum.lost += hand.lost;
    sum.best += hand.best > 0;
    show(sum);
    const result = won > 0 ? `You win ${format(won)}: ` : won < 0 ? `You lose ${format(-won)}: ` : "Nobody wins: ";
    deal(opponent, sum, element("p", { class: `result ${won > 0 ? "gain" : won < 0 ? "loss" : ""}` },
      element("b", {}, result), `${hand.said.join(", ")}.`));
  }

  function show({ hands, won, expected, lost, best }) {
    const rows = [
      ["hands", hands.toLocaleString("en")], ["you won", format(won)],
      ["a best response wins on average", format(expected)], ["your choices gave away, on average", format(lost)],
      ["hands the best response would have won", hands ? `${best} of ${hands}` : "–"],
    ];
    account.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }

  return { node, draw: () => { if (made !== page.made) sit({}, made = page.made); } };
}
