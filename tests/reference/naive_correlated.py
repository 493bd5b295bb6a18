"""Correlated equilibria of trees from their definition: distributions over all joint plans."""

import itertools

import numpy as np
from naive_games import expected_value
from scipy.optimize import linprog

from regretkit.games import CHANCE


def information_sets(root, players):
    """Return for each player its information sets: actions, and own moves before."""
    found = [{} for _ in range(players)]

    def walk(history, moves):
        if history.is_terminal():
            return
        player = history.player()
        if player == CHANCE:
            for action, _ in history.chance_outcomes():
                walk(history.child(action), moves)
            return
        label, actions = str(history.information_set()), list(history.actions())
        found[player][label] = len(actions), dict(moves[player])
        for number, action in enumerate(actions):
            after = list(moves)
            after[player] = {**moves[player], label: number}
            walk(history.child(action), after)

    walk(root, [{} for _ in range(players)])
    return found


def plans(sets):
    """Return all plans of a player, each an action for every information set."""
    options = [range(count) for count, _ in sets.values()]
    return [dict(zip(sets, chosen, strict=True)) for chosen in itertools.product(*options)]


def payoffs(root, sets, joint):
    behavior = {
        (player, label): np.eye(sets[player][label][0])[action]
        for player, plan in enumerate(joint)
        for label, action in plan.items()
    }
    return np.asarray(expected_value(root, behavior))


def deviations(sets, concept):
    """Yield what a plan recommends at a trigger, and each way to continue after it."""
    if concept == "nfcce":
        yield from (({}, plan) for plan in plans(sets))
        return
    for label, (count, before) in sets.items():
        later = {name: point for name, point in sets.items() if name == label or label in point[1]}
        told = [{}] if concept == "efcce" else [{label: action} for action in range(count)]
        for recommended, plan in itertools.product(told, plans(later)):
            yield {**before, **recommended}, plan


def best(root, players, weights, concept):
    """Return the largest weighted payoff over all equilibria, by one variable a joint plan."""
    sets = information_sets(root, players)
    joints = list(itertools.product(*map(plans, sets)))
    place = {tuple(tuple(plan.values()) for plan in joint): n for n, joint in enumerate(joints)}
    paid = np.array([payoffs(root, sets, joint) for joint in joints])
    rows = set()
    for player in range(players):
        for told, instead in deviations(sets[player], concept):
            row = np.zeros(len(joints))
            for number, joint in enumerate(joints):
                if all(joint[player][label] == action for label, action in told.items()):
                    changed = list(joint)
                    changed[player] = {**joint[player], **instead}
                    other = place[tuple(tuple(plan.values()) for plan in changed)]
                    row[number] = paid[other, player] - paid[number, player]
            rows.add(tuple(row.tolist()))
    solved = linprog(
        -paid @ weights,
        A_ub=np.array(sorted(rows)),
        b_ub=np.zeros(len(rows)),
        A_eq=np.ones((1, len(joints))),
        b_eq=[1.0],
        method="highs-ds",
    )
    assert solved.status == 0, solved.message
    return -solved.fun


def gaps(game, probability, concept):
    """Return what the best single trigger of each player gains, by ``probability`` of sequences."""
    from regretkit.games.tree._sequences import last_sequences, reach_of_chance

    tree, found = game.tree, []
    last = last_sequences(tree)[:, tree.terminals].T.tolist()
    chance = reach_of_chance(tree)[tree.terminals].tolist()
    for player, domain in enumerate(game.domains):
        parents, firsts = domain.parent_sequence.tolist(), domain.first_sequence.tolist()
        sizes = domain.sizes.tolist()
        point_of = [-1, *np.repeat(np.arange(domain.points), domain.sizes).tolist()]

        def path(sequence, parents=parents, point_of=point_of):
            while sequence:
                yield sequence
                sequence = parents[point_of[sequence]]

        def earned(sequence, told=None, player=player):
            """What is paid after a last sequence, as recommended or as ``told`` was."""
            total = 0.0
            for z, p, paid in zip(last, chance, tree.payoffs[:, player].tolist(), strict=True):
                if z[player] == sequence:
                    sequences = [*z]
                    sequences[player] = sequence if told is None else told
                    total += p * paid * probability(sequences)
            return total

        def best_from(j, told, parents=parents, firsts=firsts, sizes=sizes):
            after = [
                earned(s, told) + sum(best_from(k, told) for k, p in enumerate(parents) if p == s)
                for s in range(firsts[j], firsts[j] + sizes[j])
            ]
            return max(after)

        gain = [0.0]
        sequences = range(1, domain.dimension)
        if concept == "nfcce":
            roots = [j for j, p in enumerate(parents) if p == 0]
            gain.append(sum(best_from(j, 0) for j in roots) - sum(map(earned, sequences)))
        for j in range(domain.points if concept != "nfcce" else 0):
            block = range(firsts[j], firsts[j] + sizes[j])
            for told in block if concept == "efce" else [parents[j]]:
                started = {told} if concept == "efce" else set(block)
                following = sum(earned(s) for s in sequences if started & set(path(s)))
                gain.append(best_from(j, told) - following)
        found.append(max(gain))
    return found


def relevant_pairs(game):
    """Return the pairs of sequences of two players that von Stengel and Forges (2008) keep.

    One of the two is empty, or some path goes through the information sets of both.
    """
    tree, (first, second) = game.tree, game.domains
    connected = set()
    for terminal in tree.terminals.tolist():
        met, history = [set(), set()], terminal
        while history:
            history = int(tree.parent[history])
            if (player := int(tree.player[history])) != CHANCE:
                met[player].add(int(tree.information_set[history]))
        connected |= set(itertools.product(*met))
    blocks = [
        [range(s, s + n) for s, n in zip(d.first_sequence.tolist(), d.sizes.tolist(), strict=True)]
        for d in (first, second)
    ]
    pairs = [(0, s) for s in range(second.dimension)]
    pairs += [(s, 0) for s in range(1, first.dimension)]
    for j, k in sorted(connected):
        pairs += itertools.product(blocks[0][j], blocks[1][k])
    return pairs, blocks, connected


def best_over_pairs(game, weights, concept):
    """Return the optimum over distributions of relevant pairs, exact for two players, no chance."""
    from regretkit.games.tree._sequences import last_sequences

    pairs, blocks, connected = relevant_pairs(game)
    number = {pair: n for n, pair in enumerate(pairs)}
    paid = dict.fromkeys(pairs, 0.0)
    ends = list(zip(*last_sequences(game.tree)[:, game.tree.terminals].tolist(), strict=True))
    payoffs = [dict(zip(ends, u.tolist(), strict=True)) for u in game.tree.payoffs.T]
    equal, unequal = [{(0, 0): 1.0}], []
    for player, domain in enumerate(game.domains):
        turn = (lambda own, other: (own, other)) if player == 0 else (lambda own, other: (other, own))
        parents = domain.parent_sequence.tolist()
        point_of = {s: j for j, block in enumerate(blocks[player]) for s in block}
        for j, block in enumerate(blocks[player]):
            others = [0]
            for k, sequences in enumerate(blocks[1 - player]):
                others += sequences if turn(j, k) in connected else []
            for other in others:
                row = {turn(s, other): 1.0 for s in block}
                equal.append(row | {turn(parents[j], other): -1.0})

        def path(s, point_of=point_of, parents=parents):
            return set() if s == 0 else {s} | path(parents[point_of[s]])

        def triggers(domain=domain, parents=parents, player=player):
            if concept == "nfcce":
                yield 0, set(range(domain.points)), set(range(1, domain.dimension))
            for j, block in enumerate(blocks[player] if concept != "nfcce" else []):
                later = {k for k, p in enumerate(parents) if k == j or path(p) & {*block}}
                for told in block if concept == "efce" else [parents[j]]:
                    kept = {told} if concept == "efce" else {*block}
                    yield told, later, {s for s in range(domain.dimension) if path(s) & kept}

        for trigger, (told, later, followed) in enumerate(triggers()):
            name = player, trigger
            starts = {j for j in later if not later & {point_of.get(parents[j])}}
            row = {(*name, j): 1.0 for j in starts}
            for z in ends:
                if z[player] in followed:
                    row[z] = row.get(z, 0.0) - payoffs[player][z]
            unequal.append(row)
            for j in later:
                for s in blocks[player][j]:
                    row = {(*name, j): -1.0}
                    row |= {(*name, k): 1.0 for k, p in enumerate(parents) if p == s}
                    for z in ends:
                        if z[player] == s:
                            row[turn(told, z[1 - player])] = payoffs[player][z]
                    unequal.append(row)
    for z in ends:
        paid[z] = sum(w * u[z] for w, u in zip(weights, payoffs, strict=True))
    values = sorted({key for row in unequal for key in row if len(key) == 3})
    number |= {key: len(pairs) + n for n, key in enumerate(values)}
    solved = linprog(
        [*(-paid[pair] for pair in pairs), *np.zeros(len(values))],
        A_ub=_matrix(unequal, number),
        b_ub=np.zeros(len(unequal)),
        A_eq=_matrix(equal, number),
        b_eq=np.eye(1, len(equal))[0],
        bounds=[(0.0, None)] * len(pairs) + [(None, None)] * len(values),
        method="highs-ds",
    )
    assert solved.status == 0, solved.message
    return -solved.fun


def _matrix(rows, number):
    from scipy.sparse import csr_array

    entries = [(r, number[key], x) for r, row in enumerate(rows) for key, x in row.items()]
    row, column, value = zip(*entries, strict=True)
    return csr_array((value, (row, column)), shape=(len(rows), len(number)))
