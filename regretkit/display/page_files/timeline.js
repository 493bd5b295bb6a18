// Time: runs of algorithms in step, records of what there is to draw, and the reader's choices.

const BEGIN = 100; // iterations that a page shows when it opens
const MOST = 1e6; // iterations
const SPEEDS = [
  ["faster and faster", 0], ["1 a second", 1], ["10 a second", 10], ["100 a second", 100],
  ["1,000 a second", 1000], ["as fast as possible", Infinity],
];

const total = numbers => numbers && numbers.reduce((sum, number) => sum + number, 0);

const copied = arrays => arrays && arrays.map(array => Float32Array.from(array));

/** One algorithm: its run, records for the charts, and snapshots to go back to. */
class Track {
  constructor(game, algorithm, settings) {
    const size = total(game.players.map(({ points }) => total(points.map(({ actions }) => actions.length))));
    this.run = startRun(game, algorithm, settings);
    this.early = Math.min(2000, Math.max(60, Math.round(2e5 / size))); // every iteration is recorded until then
    this.longest = Math.min(400, Math.max(20, Math.round(4e6 / size))); // iterations of the trail
    Object.assign(this, { records: [], recent: [] });
    this.snapshots = [{ t: 0, state: this.run.snapshot() }];
    this.record();
  }

  /** Advance to an iteration, or until a time of `performance.now()`. */
  advance(t, end) {
    const { run, early } = this, step = t => Math.floor(Math.log(t) * Math.max(20, early / 8));
    while (run.t < t && performance.now() < end) {
      run.step();
      this.recent.push(copied(run.strategies));
      if (this.recent.length > this.longest) this.recent.shift();
      if (run.t <= early || step(run.t) > step(run.t - 1)) this.record();
      const between = 2 ** Math.max(0, Math.floor(Math.log2(run.t / 20)));
      if (run.t % between === 0 && run.t > this.snapshots.at(-1).t) this.snapshots.push({ t: run.t, state: run.snapshot() });
    }
  }

  /** Go back to the last snapshot before an iteration. */
  seek(t) {
    if (t >= this.run.t) return;
    this.run.restore(this.snapshots.findLast(snapshot => snapshot.t <= t).state);
    this.recent = [];
  }

  record() {
    const { run } = this;
    if (this.records.length && run.t <= this.records.at(-1).t) return;
    this.records.push({
      t: run.t, current: copied(run.strategies), average: copied(run.averages()), regrets: copied(run.regrets),
      gap: this.gap, last: total(run.gains("current")), bound: run.t ? run.bound() : null,
    });
  }

  /** What the players could gain by best responses to the averages, or null before the first. */
  get gap() {
    const { t } = this.run;
    if (this.measured?.t !== t) this.measured = { t, gap: t ? total(this.run.gains("average")) : null };
    return this.measured.gap;
  }

  /** The records until now. */
  get known() {
    return this.records.slice(0, this.records.findLastIndex(({ t }) => t <= this.run.t) + 1);
  }

  /** Return about `count` of the records until now. */
  past(count) {
    const { known } = this, stride = Math.max(1, Math.ceil(known.length / count));
    return known.filter((_, k) => k % stride === 0 || k === known.length - 1);
  }

  /** The strategies of the last iterations, without gaps. */
  get trail() {
    const { run, early, longest, known, recent } = this;
    return run.t <= early ? known.slice(-longest).map(({ current }) => current) : recent;
  }
}

/** All algorithms in step, and the choices of the reader. */
class Timeline {
  constructor(data) {
    Object.assign(this, { data, algorithms: data.algorithms, made: 0, draw: () => {} });
    this.read("");
  }

  get t() {
    return Math.min(...this.tracks.map(({ run }) => run.t));
  }

  /** The largest iteration with a record. */
  get reached() {
    return Math.max(this.goal, ...this.tracks.map(({ records }) => records.at(-1).t));
  }

  /** Make new runs after a choice, which catch up with the iteration that was shown. */
  restart() {
    this.tracks = this.algorithms.map((algorithm, k) => new Track(this.game, algorithm, this.settings[k]));
    this.last = Math.min(MOST, ...this.tracks.map(({ run }) => run.last));
    this.goal = Math.min(this.goal, this.last);
    this.made += 1;
    this.wake();
  }

  seek(t) {
    this.playing = false;
    this.goal = Math.max(0, Math.min(Math.round(t), this.last));
    for (const track of this.tracks) track.seek(this.goal);
    this.wake();
  }

  play(playing) {
    this.playing = playing && this.goal < this.last;
    this.wake();
  }

  /** Draw soon. */
  wake() {
    this.then ??= requestAnimationFrame(now => this.frame(now, now));
  }

  /** Advance for one picture, to the goal. The goal moves on while the page plays. */
  frame(now, before) {
    const begin = performance.now(), seconds = Math.min(0.5, (now - before) / 1000);
    const speed = this.speed || Math.max(3, 0.6 * this.goal), fastest = speed === Infinity;
    if (this.playing && this.t >= Math.floor(this.goal))
      this.goal = Math.min(this.last, this.goal + (fastest ? 1e4 : speed * seconds));
    const goal = Math.floor(this.goal), part = Math.min(120, Math.max(16, 0.6 * (now - before))); // milliseconds
    const turn = part / this.tracks.length;
    this.tracks.forEach((track, k) => track.advance(goal, begin + turn * (k + 1)));
    if (this.playing && fastest) this.goal = Math.max(...this.tracks.map(({ run }) => run.t));
    if (this.goal >= this.last) this.playing = false;
    this.draw();
    const more = this.playing || this.t < Math.floor(this.goal);
    this.then = more ? requestAnimationFrame(next => this.frame(next, now)) : null;
  }

  /** Return all choices as the fragment of a link. */
  fragment() {
    const given = new URLSearchParams({ t: Math.floor(this.goal), show: this.chosen.join(".") });
    if (this.speed) given.set("speed", this.speed);
    this.settings.forEach(({ stops, averaging, order }, k) => {
      const { choices, averagings, orders } = this.algorithms[k];
      for (const [name, stop] of Object.entries(stops))
        if (stop !== choices[name].default) given.set(`${k}.${name}`, choices[name].values[stop]);
      if (averaging) given.set(`${k}.averaging`, averagings[averaging].label);
      if (order) given.set(`${k}.order`, orders[order].label);
    });
    const { matrix } = this.game;
    if (JSON.stringify(matrix) !== JSON.stringify(this.data.game.matrix)) given.set("payoffs", matrix.flat(2));
    return given.toString();
  }

  /** Take the choices of a fragment. What it lacks, or names wrongly, is as at first. */
  read(fragment) {
    const given = new URLSearchParams(fragment), has = name => given.get(name) ?? "";
    this.game = structuredClone(this.data.game);
    const { matrix, players } = this.game, payoffs = has("payoffs").split(",").map(Number);
    if (matrix && payoffs.length === matrix.flat(2).length && payoffs.every(Number.isFinite))
      setPayoffs(this.game, matrix.map(row => row.map(() => payoffs.splice(0, players.length))));
    this.settings = this.algorithms.map(({ choices, averagings, orders }, k) => {
      const find = (list, name) => Math.max(0, (list ?? []).findIndex(({ label }) => label === has(`${k}.${name}`)));
      const stops = Object.entries(choices ?? {}).map(([name, { values, ...known }]) => {
        const stop = values.findIndex(value => String(value) === has(`${k}.${name}`));
        return [name, stop < 0 ? known.default : stop];
      });
      const averaging = find(averagings, "averaging"), order = find(orders, "order");
      return { stops: Object.fromEntries(stops), averaging, order };
    });
    const [player, point] = has("show").split(".").map(Number);
    const three = players[0].points.findIndex(({ actions }) => actions.length === 3);
    this.chosen = players[player]?.points[point] ? [player, point] : [0, Math.max(0, three)];
    this.goal = /^\d+$/.test(has("t")) ? Number(has("t")) : BEGIN;
    this.speed = SPEEDS.find(([, speed]) => String(speed) === has("speed"))?.[1] ?? 0;
    this.playing = false;
    this.restart();
  }
}

/** Change the payoffs of a matrix game, in its matrix and its tree. */
function setPayoffs(game, matrix) {
  const cells = matrix.flat();
  game.matrix = matrix;
  game.nodes?.filter(node => node.payoffs).forEach((leaf, k) => { leaf.payoffs = cells[k]; });
}

/** Return the actions of an information set, and where they are in the arrays of its player. */
function actionsOf(game, [player, point]) {
  const { actions, first, size } = game.players[player].points[point];
  return { actions, start: first, end: first + size };
}
