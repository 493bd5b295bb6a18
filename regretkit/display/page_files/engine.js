"use strict";
/**
 * Runs of regret minimization, without a page around them: this file also runs under Node.js.
 *
 * DATA, which `regretkit/display/_page_data.py` makes:
 *
 * @typedef {{title: string, version: string, command: string, game: Game,
 *            algorithms: Algorithm[]}} Data
 *
 * The actions of a player are numbered through all of its points. Sequence 0 is the empty one, and
 * sequence s is the action s - 1 after the actions before it. `first` is a point's first action,
 * `size` its number of actions, `parent` the sequence before it, and `share` the largest weight
 * that chance gives to it. Parents come before children.
 *
 * @typedef {{label: string, parent: number, first: number, size: number, actions: string[],
 *            share: number}} Point
 *
 * Nodes are in breadth-first order: the root, then the children of each node in order of its
 * actions. `player` is -1 for chance and null at the end of the game, `point` is one of this
 * player's, `chance` the probability of the action `edge` before it if chance takes it, else 1.
 *
 * @typedef {{parent: number, edge: string, player: ?number, point: ?number, chance: number,
 *            payoffs: ?number[]}} Vertex
 *
 * Payoffs are in one of three forms: `matrix[row][column] = [u1, u2]`; or for two players `rows`,
 * a sparse matrix for each; or `leaves`, with each player's last sequence and payoff times the
 * probability of chance. `constant` is the sum of payoffs if that is constant. `nodes` is null if
 * there are too many.
 *
 * @typedef {{row: number[], begin: number[], column: number[], value: number[],
 *            sumBegin: number[], summed: number[]}} Rows
 * @typedef {{name: string, players: {name: string, points: Point[]}[], constant: ?number,
 *            matrix: ?number[][][], rows: ?Rows[], range: number[], nodes: ?Vertex[],
 *            leaves: ?{sequences: number[][], payoffs: number[][]}}} Game
 *
 * The hyperparameters of `choices` have a few values each. `rules` has, by the indices of these
 * values as "2,0", each player's rules: `points` (null: all), the names of the kernel and of its
 * schedule in KERNELS, initial state arrays (a number if all entries are equal) with whether
 * they are by action, and the initial scalar state. `theorem` tells which bound holds.
 *
 * @typedef {{points: ?number[], kernel: string, schedule: string, parameters: number,
 *            arrays: [boolean, number|number[]][], numbers: number[]}} Rule
 * @typedef {{label: string, kind: "power"|"last"|"table", exponent?: number, delay?: number,
 *            weights?: number[]}} Averaging
 * @typedef {{label: string, players: number[], simultaneous: boolean}} Order
 * @typedef {{iterations: number[], averages: number[][][], strategies: number[][][],
 *            gains: {average: number[][], current: number[][]}}} Record
 * @typedef {{label: string, command: string, source: string, averagings: Averaging[],
 *            orders: Order[], choices: Object<string, {values: number[], default: number}>,
 *            rules?: Object<string, Rule[][]>, recorded?: Record, reason?: string,
 *            theorem: ?("uniform"|"increasing"), circuit: Part[]}} Algorithm
 * @typedef {{role: string, name: string, place: string, player: number, point: ?number,
 *            parts: Part[]}} Part
 *
 * @typedef {{stops?: Object<string, number>, averaging?: number, order?: number}} Settings
 * @typedef {"average"|"current"} Which
 * @typedef {Float64Array[]} Profile  behavioral strategies: the probability of each action
 */

/** Largest sum, relative to the magnitudes of its terms, that counts as zero. */
const RESOLUTION = 2 ** -44;

/** Start a run, or the playback of a recorded one. */
function startRun(game, algorithm, settings = {}) {
  return algorithm.recorded ? new Playback(game, algorithm) : new Run(game, algorithm, settings);
}

/** One player's decision points, and passes over them. */
class Tree {
  /** @param {Point[]} points */
  constructor(points) {
    this.points = points.length;
    this.first = Int32Array.from(points, point => point.first);
    this.size = Int32Array.from(points, point => point.size);
    this.parent = Int32Array.from(points, point => point.parent);
    this.actions = points.reduce((sum, point) => sum + point.size, 0);
    this.magnitudes = new Float64Array(this.actions + 1);
  }

  /** Write the weight of each sequence, its player's probabilities up to it multiplied. */
  weigh(behavior, weights) {
    const {first, size, parent} = this;
    weights[0] = 1;
    for (let j = 0; j < first.length; j++) {
      const inflow = weights[parent[j]];
      for (let a = first[j], end = a + size[j]; a < end; a++) weights[a + 1] = behavior[a] * inflow;
    }
  }

  /** Return the behavior of weights of sequences, uniform where a point has none. */
  behavior(weights) {
    const {first, size} = this, behavior = new Float64Array(this.actions);
    for (let j = 0; j < first.length; j++) {
      const begin = first[j], end = begin + size[j];
      let sum = 0;
      for (let a = begin; a < end; a++) sum += weights[a + 1];
      for (let a = begin; a < end; a++) behavior[a] = sum > 0 ? weights[a + 1] / sum : 1 / size[j];
    }
    return behavior;
  }

  /**
   * Add to the utility of each sequence the values of the points after it, from the leaves to the
   * root. `valueAt(j)` returns the value of point j, given the utilities of its actions.
   */
  back(values, valueAt) {
    const {first, size, parent, magnitudes} = this;
    magnitudes.fill(0);
    for (let j = first.length - 1; j >= 0; j--) {
      for (let s = first[j] + 1, end = s + size[j]; s < end; s++) {
        if (magnitudes[s] > 0) settle(values, magnitudes, s);
      }
      const value = valueAt(j);
      values[parent[j]] += value;
      magnitudes[parent[j]] += Math.abs(value);
    }
    settle(values, magnitudes, 0);
  }

  /** Add to each utility the best values of the points after it. */
  best(values) {
    const {first, size} = this;
    this.back(values, j => {
      let best = -Infinity;
      for (let s = first[j] + 1, end = s + size[j]; s < end; s++) best = Math.max(best, values[s]);
      return best;
    });
    return values;
  }
}

/** Set a sum to zero whose terms cancel up to rounding, so that ties remain ties. */
function settle(values, magnitudes, s) {
  if (Math.abs(values[s]) <= RESOLUTION * magnitudes[s]) values[s] = 0;
}

/** The expected utility at a point, max u + <u - max u, b>; utilities are by sequence. */
function expectation(values, behavior, first, size) {
  let top = values[first + 1];
  for (let a = first + 1; a < first + size; a++) if (values[a + 1] > top) top = values[a + 1];
  let missed = 0;
  for (let a = first; a < first + size; a++) missed += (values[a + 1] - top) * behavior[a];
  const value = top + missed;
  return Math.abs(value) <= RESOLUTION * (Math.abs(top) - missed) ? 0 : value;
}

/**
 * Return a function (player, weights, totals) that writes the utility of each of the player's
 * sequences, given the weights of the others' sequences.
 */
function utilities(game) {
  if (game.matrix) return ofMatrix(game.matrix);
  return game.rows ? ofRows(game.rows) : ofLeaves(game.leaves);
}

function ofMatrix(matrix) {
  const of = [matrix, matrix[0].map((_, column) => matrix.map(row => row[column]))];
  const tables = of.map((rows, player) => rows.map(row => Float64Array.from(row, u => u[player])));
  return (player, weights, totals) => {
    const other = weights[1 - player];
    totals[0] = 0;
    tables[player].forEach((row, i) => {
      let total = 0, magnitude = 0;
      for (let k = 0; k < row.length; k++) {
        const term = row[k] * other[k + 1];
        total += term;
        magnitude += Math.abs(term);
      }
      totals[i + 1] = Math.abs(total) <= RESOLUTION * magnitude ? 0 : total;
    });
  };
}

/** Rows with equal entries are one, and a column may be a sum of several sequences. */
function ofRows(both) {
  const tables = both.map(({row, begin, column, value, sumBegin, summed}) => ({
    row: Int32Array.from(row), begin: Int32Array.from(begin), column: Int32Array.from(column),
    value: Float64Array.from(value), sumBegin: Int32Array.from(sumBegin),
    summed: Int32Array.from(summed), distinct: new Float64Array(begin.length - 1),
  }));
  tables.forEach((table, player) => {
    table.weights = new Float64Array(tables[1 - player].row.length + table.sumBegin.length - 1);
  });
  return (player, given, totals) => {
    const {row, begin, column, value, sumBegin, summed, distinct, weights} = tables[player];
    const other = given[1 - player];
    weights.set(other);
    for (let k = 0; k < sumBegin.length - 1; k++) {
      let total = 0;
      for (let e = sumBegin[k]; e < sumBegin[k + 1]; e++) total += weights[summed[e]];
      weights[other.length + k] = total;
    }
    for (let r = 0; r < distinct.length; r++) {
      let total = 0, magnitude = 0;
      for (let e = begin[r]; e < begin[r + 1]; e++) {
        const term = value[e] * weights[column[e]];
        total += term;
        magnitude += Math.abs(term);
      }
      distinct[r] = Math.abs(total) <= RESOLUTION * magnitude ? 0 : total;
    }
    for (let s = 0; s < row.length; s++) totals[s] = distinct[row[s]];
  };
}

function ofLeaves({sequences, payoffs}) {
  const last = sequences.map(own => Int32Array.from(own));
  const paid = payoffs.map(own => Float64Array.from(own));
  return (player, weights, totals) => {
    const own = last[player], magnitudes = new Float64Array(totals.length);
    totals.fill(0);
    for (let leaf = 0; leaf < own.length; leaf++) {
      let term = paid[player][leaf];
      for (let other = 0; other < last.length; other++) {
        if (other !== player) term *= weights[other][last[other][leaf]];
      }
      totals[own[leaf]] += term;
      magnitudes[own[leaf]] += Math.abs(term);
    }
    for (let s = 0; s < totals.length; s++) settle(totals, magnitudes, s);
  };
}

/** What can be said of the current and the average strategies in a game. */
class Strategies {
  constructor(game) {
    this.game = game;
    this.trees = game.players.map(player => new Tree(player.points));
    this.utility = utilities(game);
    this.t = 0;
    this.last = Infinity;
  }

  /** @returns {Float64Array[]} the weight of each player's sequences */
  weights(which) {
    const profile = this.profile(which);
    return this.trees.map((tree, player) => {
      const weights = new Float64Array(tree.actions + 1);
      tree.weigh(profile[player], weights);
      return weights;
    });
  }

  /** @returns {Profile} */
  profile(which) {
    return which === "average" ? this.averages() : this.strategies;
  }

  /** What each player's best response gains; the sum is the gap. */
  gains(which) {
    const weights = this.weights(which);
    return this.trees.map((tree, player) => {
      const values = new Float64Array(tree.actions + 1);
      this.utility(player, weights, values);
      tree.best(values);
      // Losses before best actions are small numbers, which lose no digits in their sum.
      let gain = 0;
      for (let j = 0; j < tree.points; j++) {
        const begin = tree.first[j] + 1, end = begin + tree.size[j];
        let best = -Infinity;
        for (let s = begin; s < end; s++) best = Math.max(best, values[s]);
        for (let s = begin; s < end; s++) gain += weights[player][s] * (best - values[s]);
      }
      return gain;
    });
  }

  /** The expected payoff of each player. */
  values(which) {
    const weights = this.weights(which);
    return this.trees.map((tree, player) => {
      const values = new Float64Array(tree.actions + 1);
      this.utility(player, weights, values);
      return values.reduce((sum, value, s) => sum + value * weights[player][s], 0);
    });
  }

  /** A best response to the others, the first best action at each point, and its value. */
  response(player, which) {
    const tree = this.trees[player], values = new Float64Array(tree.actions + 1);
    this.utility(player, this.weights(which), values);
    tree.best(values);
    const strategy = new Float64Array(tree.actions);
    for (let j = 0; j < tree.points; j++) {
      const utility = values.subarray(tree.first[j] + 1, tree.first[j] + 1 + tree.size[j]);
      strategy[tree.first[j] + utility.indexOf(Math.max(...utility))] = 1;
    }
    return {strategy, value: values[0]};
  }

  /** The probability of each node, null if the game has no nodes to draw. */
  reach(which) {
    const {nodes, players} = this.game;
    if (!nodes) return null;
    const profile = this.profile(which), reach = new Float64Array(nodes.length);
    const children = new Int32Array(nodes.length);
    nodes.forEach(({parent, chance}, k) => {
      if (parent < 0) return void (reach[k] = 1);
      const {player, point} = nodes[parent], action = children[parent]++;
      const probability = player < 0 ? chance
        : profile[player][players[player].points[point].first + action];
      reach[k] = reach[parent] * probability;
    });
    return reach;
  }
}

/** A rule of a player at some of its points. */
class Learner {
  /**
   * @param {Rule} rule
   * @param {Tree} tree
   */
  constructor(rule, tree) {
    this.kernel = KERNELS.kernels[rule.kernel];
    this.schedule = KERNELS.schedules[rule.schedule];
    this.row = new Float64Array(rule.parameters);
    this.numbers = Float64Array.from(rule.numbers);
    this.state = rule.arrays.map(([byAction, numbers]) => {
      const array = new Float64Array(byAction ? tree.actions : tree.points);
      if (Array.isArray(numbers)) array.set(numbers);
      else array.fill(numbers);
      return array;
    });
    this.advance(0);
  }

  /** Compute the parameters of iteration t. */
  advance(t) {
    this.schedule(t, this.numbers, this.row);
  }
}

/** A run of one algorithm: iterations of CFR, by the kernels of its rules. */
class Run extends Strategies {
  /**
   * @param {Game} game
   * @param {Algorithm} algorithm
   * @param {Settings} settings
   */
  constructor(game, algorithm, settings = {}) {
    super(game);
    const {stops = {}, averaging = 0, order = 0} = settings;
    const key = Object.entries(algorithm.choices).map(([name, choice]) =>
      name in stops ? stops[name] : choice.default);
    this.averaging = algorithm.averagings[averaging];
    this.order = algorithm.orders[order];
    this.theorem = algorithm.theorem;
    this.weight = 0;
    const byAction = () => this.trees.map(tree => new Float64Array(tree.actions));
    const bySequence = () => this.trees.map(tree => new Float64Array(tree.actions + 1));
    /** The strategies of the next iteration. @type {Profile} */
    this.strategies = byAction();
    /** Sum of utility minus value of each action, counterfactual. */
    this.regrets = byAction();
    /** The weights of sequences, their sum over iterations, and utilities. */
    [this.sequences, this.totals, this.earned, this.gathered] = Array.from({length: 4}, bySequence);
    /** The counterfactual utilities of the last iteration, by action. */
    this.utilities = this.gathered.map(values => values.subarray(1));
    this.gained = new Float64Array(this.trees.length);
    this.learners = algorithm.rules[key.join()].map((rules, player) =>
      rules.map(rule => new Learner(rule, this.trees[player])));
    this.learnerAt = this.trees.map((tree, player) => {
      const at = new Array(tree.points).fill(this.learners[player][0]);
      algorithm.rules[key.join()][player].forEach(({points}, k) =>
        (points || []).forEach(j => { at[j] = this.learners[player][k]; }));
      return at;
    });
    this.trees.forEach((tree, player) => {
      for (let j = 0; j < tree.points; j++) this.propose(player, j);
      tree.weigh(this.strategies[player], this.sequences[player]);
    });
  }

  /** Play n iterations. */
  step(n = 1) {
    const {players, simultaneous} = this.order;
    for (let k = 0; k < n; k++) {
      this.t += 1;
      this.accumulate();
      if (simultaneous) {
        for (const player of players) this.observe(player);
        for (const player of players) this.learn(player);
      } else {
        for (const player of players) {
          this.observe(player);
          this.learn(player);
        }
      }
    }
  }

  /** Add the strategies of this iteration to the average. */
  accumulate() {
    const weight = this.weightAt(this.t), discards = weight === Infinity;
    const added = discards ? 1 : weight;
    this.weight += added;
    this.totals.forEach((total, player) => {
      const strategy = this.sequences[player];
      if (discards) total.fill(0);
      for (let s = 0; s < total.length; s++) total[s] += added * strategy[s];
    });
  }

  weightAt(t) {
    const {kind, exponent, delay, weights} = this.averaging;
    if (kind === "last") return Infinity;
    if (kind === "power") return t <= delay ? 1e-200 * t ** exponent : t ** exponent;
    return t <= weights.length ? weights[t - 1] : (t / weights.length) ** exponent;
  }

  /** Compute a player's utility against the others. */
  observe(player) {
    this.utility(player, this.sequences, this.gathered[player]);
  }

  /** Update a player's rules at each point, from the leaves to the root, then its strategy. */
  learn(player) {
    const tree = this.trees[player], {first, size} = tree, values = this.gathered[player];
    const behavior = this.strategies[player], utility = this.utilities[player];
    const regrets = this.regrets[player], earned = this.earned[player], at = this.learnerAt[player];
    for (let s = 0; s < values.length; s++) earned[s] += values[s];
    for (const learner of this.learners[player]) learner.advance(this.t);
    tree.back(values, j => {
      const begin = first[j], end = begin + size[j], {kernel, state, row} = at[j];
      const value = expectation(values, behavior, begin, size[j]);
      for (let a = begin; a < end; a++) regrets[a] += utility[a] - value;
      kernel.learn(j, begin, end, utility, value, behavior, state, row);
      kernel.propose(j, begin, end, behavior, state, row);
      return value;
    });
    this.gained[player] += values[0];
    tree.weigh(behavior, this.sequences[player]);
  }

  propose(player, j) {
    const {first, size} = this.trees[player], {kernel, state, row} = this.learnerAt[player][j];
    kernel.propose(j, first[j], first[j] + size[j], this.strategies[player], state, row);
  }

  /** @returns {Profile} the weighted average of all strategies so far, at first the current ones */
  averages() {
    if (this.weight === 0) return this.strategies.map(strategy => strategy.slice());
    return this.trees.map((tree, player) => tree.behavior(this.totals[player]));
  }

  /** A player's regret so far: what its best fixed strategy would have earned in addition. */
  regret(player) {
    return this.trees[player].best(this.earned[player].slice())[0] - this.gained[player];
  }

  /** For each of a player's points, the largest regret, and what a theorem says that it is below. */
  parts(player) {
    const {first, size} = this.trees[player], regrets = this.regrets[player];
    return this.game.players[player].points.map(({share}, j) => ({
      regret: Math.max(...regrets.subarray(first[j], first[j] + size[j])),
      bound: this.theorem
        ? this.range(player) * share * Math.sqrt(size[j] * this.t) : null,
    }));
  }

  /** The difference of a player's largest and least payoff. */
  range(player) {
    const {matrix, range} = this.game;
    if (!matrix) return range[player];
    const payoffs = matrix.flat().map(both => both[player]);
    return Math.max(...payoffs) - Math.min(...payoffs);
  }

  /**
   * The largest gap of the average that is possible after t iterations, by a theorem, or null.
   *
   * The sum over points of range sqrt(actions T) bounds a player's regret. Updates in turn add one
   * payoff. Increasing weights multiply it by T w_T / sum of w.
   */
  bound() {
    const {kind, exponent, delay} = this.averaging;
    const increasing = exponent === 0 || this.theorem === "increasing";
    const applies = kind === "power" && delay === 0 && increasing;
    const {constant} = this.game;
    if (!this.theorem || !applies || exponent < 0 || constant === null || this.t === 0) return null;
    let all = this.order.simultaneous ? 0 : this.range(0);
    this.game.players.forEach(({points}, player) => {
      const range = this.range(player);
      for (const {share, size} of points) all += range * share * Math.sqrt(size * this.t);
    });
    return all * this.t ** exponent / this.weight;
  }

  /** All numbers of a run, to come back to. */
  snapshot() {
    return {t: this.t, weight: this.weight, arrays: this.arrays().map(array => array.slice())};
  }

  restore({t, weight, arrays}) {
    Object.assign(this, {t, weight});
    this.arrays().forEach((array, k) => array.set(arrays[k]));
  }

  arrays() {
    const learners = this.learners.flat();
    return [
      ...this.strategies, ...this.regrets, ...this.sequences, ...this.totals, ...this.earned,
      ...this.gathered, this.gained,
      ...learners.flatMap(({state, numbers, row}) => [...state, numbers, row]),
    ];
  }
}

/** The playback of a run that was recorded in Python. */
class Playback extends Strategies {
  constructor(game, algorithm) {
    super(game);
    this.record = algorithm.recorded;
    this.last = this.record.iterations[this.record.iterations.length - 1];
    this.regrets = this.utilities = null;
    this.show(0);
  }

  step(n = 1) {
    this.show(Math.min(this.t + n, this.last));
  }

  /** Show the last record up to iteration t. */
  show(t) {
    const {iterations, strategies, averages} = this.record;
    this.t = t;
    this.at = iterations.findLastIndex(iteration => iteration <= t);
    this.strategies = strategies[this.at].map(own => Float64Array.from(own));
    this.averaged = averages[this.at].map(own => Float64Array.from(own));
  }

  averages() {
    return this.averaged;
  }

  gains(which) {
    return this.record.gains[which][this.at];
  }

  regret() {
    return null;
  }

  parts() {
    return null;
  }

  bound() {
    return null;
  }

  snapshot() {
    return this.t;
  }

  restore(t) {
    this.show(t);
  }
}
