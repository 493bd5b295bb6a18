"""On Ray an experiment has the results that it has on one machine, and nodes may die."""

import os
from pathlib import Path

import bench_victim
import pytest
from refusals import refusals

from regretkit.workbench import Experiment

pytestmark = pytest.mark.deep
ray = pytest.importorskip("ray", reason="Ray is not installed; pip install regretkit[ray]")

NOTING = """
import os
import time
import warnings

warnings.filterwarnings("ignore", ".*cannot be compiled")


class Slow(Mine):
    def _learn(self, utility, strategy):
        if not self.iteration:
            with open({log!r}, "a") as file:
                print(os.getppid(), file=file)  # what starts the processes of a node
        if utility.sum() < 1e9:  # cannot be compiled, or it would not sleep
            time.sleep(0.005)
        super()._learn(utility, strategy)


class Dies(Mine):
    def _learn(self, utility, strategy):
        os._exit(1)
"""
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="module")
def two_nodes():
    """Return a cluster of two nodes with a processor each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of a later version
        cluster = Cluster(True, head_node_args={**NODE, "include_dashboard": False})
        cluster.add_node(**NODE)
        yield cluster
        cluster.shutdown()


@pytest.fixture
def rule(tmp_path, monkeypatch):
    """Return the name of a rule in the working folder, and where its runs are noted."""
    log = tmp_path / "log"
    path = tmp_path / f"rule_of_ray_{tmp_path.name}.py"
    path.write_text(bench_victim.RULE + NOTING.format(log=str(log)))
    monkeypatch.chdir(tmp_path)
    return f"{path.name}:Slow", log


def begun(log):
    return list(map(int, log.read_text().split())) if log.exists() else []


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


def test_a_node_that_dies_costs_no_result(two_nodes, rule):
    name, log = rule
    made = Experiment("kuhn_poker(deck=3|4)", f"cfr+, mccfr, {name}, {name}(power=1)", 100)
    expected = bench_victim.results(made.run("here", workers=0))
    undisturbed = len(begun(log))
    log.unlink()
    [second] = two_nodes.worker_nodes
    doomed = raylet(second)

    def kill(entries):
        progressed = any(entry.state == "running" and entry.iteration > 50 for entry in entries)
        if two_nodes.worker_nodes and doomed in begun(log) and progressed:
            two_nodes.remove_node(second, allow_graceful=False)

    found = made.run("there", on=two_nodes.address, watch=kill)
    assert not two_nodes.worker_nodes
    two_nodes.add_node(**NODE)
    assert {*begun(log)} == {doomed, raylet(two_nodes.head_node)}
    assert len(begun(log)) > undisturbed  # one began again
    assert not found.failures
    assert bench_victim.results(found) == expected
    assert bench_victim.names("there") == bench_victim.names("here")


def test_nodes_that_do_not_see_the_folder_send_their_results_back(two_nodes, rule, tmp_path):
    name, _ = rule
    (tmp_path / "work").mkdir()
    Path(name.partition(":")[0]).rename(tmp_path / "work" / name.partition(":")[0])
    os.chdir(tmp_path / "work")
    algorithms = f"cfr+, {name}, {name.replace('Slow', 'Dies')}"
    made = Experiment("kuhn_poker", algorithms, 20, measures=bench_victim.MEASURES)
    here = "/proc/self/cwd/../results"  # of each process another folder
    found = made.run(here, on=two_nodes.address)
    [reason] = found.failures.values()
    assert "worker died" in reason
    assert len(reason.splitlines()) == 1
    names = bench_victim.names("../results")
    assert len(names) == 2
    whole = Experiment("kuhn_poker", f"cfr+, {name}", 20, measures=bench_victim.MEASURES)
    assert bench_victim.results(whole.run("../same", workers=0)) == bench_victim.results(found)
    assert bench_victim.names("../same") == names

    assert whole.run(here, on=two_nodes.address).runs == found.runs  # with its clocks
    (tmp_path / "results" / names[0]).write_text("")
    with pytest.warns(RuntimeWarning, match="it is run again"):
        again = whole.run(here, on=two_nodes.address)
    assert bench_victim.results(again) == bench_victim.results(found)
    assert bench_victim.names("../results") == names


def test_a_cluster_is_started_for_the_purpose_and_stopped(rule, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    small = ["kuhn_poker", "kuhn_poker(memory_limit=1000)"]  # which does not fit alone either
    made = Experiment(small, "cfr+", 20)
    found = made.run("there", on="ray", workers=1, memory=1e9)
    assert not ray.is_initialized()
    [reason] = found.failures.values()
    assert "58 histories, which take about" in reason
    assert bench_victim.results(found) == bench_victim.results(made.run("here", workers=0))
    assert bench_victim.names("there") == bench_victim.names("here")


test_what_ray_cannot_do_is_refused = refusals(
    ({"on": "rays"}, ValueError, "on must be 'ray', or the address of a cluster.*got 'rays'"),
    ({"on": 3}, ValueError, "on must be 'ray', .*got 3"),
    ({"on": "ray", "workers": 0}, ValueError, "workers must be 1 at least, got 0"),
    ({"on": "localhost:1"}, ValueError, "cannot use Ray at 'localhost:1': .*refused"),
    ({"on": "localhost:one"}, ValueError, "cannot use Ray at 'localhost:one': "),
    ({"on": "localhost:1", "workers": 2}, ValueError, "a cluster has its own"),
    call=lambda given: Experiment("kuhn_poker", "cfr", 10).run("results", **given),
)
