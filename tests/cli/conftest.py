"""Commands in this process; each module has the fixture ``folder`` that they run in."""

import pytest
from run_cli import refuses, reports, runs


@pytest.fixture
def run(capsys, folder):
    return runs(capsys)


@pytest.fixture
def report(run):
    return reports(run)


@pytest.fixture
def refused(run):
    return refuses(run)
