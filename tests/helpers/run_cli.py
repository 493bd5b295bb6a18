"""Commands of the command line, run in this process."""

import json

from regretkit.__main__ import main


def runs(capsys):
    """Return what runs a command, and returns its exit code, output and errors."""

    def run(*words):
        code = main(list(map(str, words)))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def refuses(run):
    """Return what runs a command that is refused, or fails, and returns the line that says so."""

    def refused(*words, code=2):
        came, out, err = run(*words)
        assert (came, out, err.count("\n")) == (code, "", 1)
        return err

    return refused


def reports(run):
    """Return what runs a command that succeeds, and returns the object of JSON that it writes."""

    def report(*words, code=0):
        came, out, err = run(*words, "--json")
        assert (came, err) == (code, "")
        return json.loads(out)

    return report
