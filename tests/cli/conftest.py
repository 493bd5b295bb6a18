"""Commands in this process, in a folder to which modules add files."""

import pytest
from run_cli import refuses, reports, runs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys, folder):
    return runs(capsys)


@pytest.fixture
def report(run):
    return reports(run)


@pytest.fixture
def refused(run):
    return refuses(run)
