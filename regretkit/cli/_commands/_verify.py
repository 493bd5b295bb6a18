"""``regretkit verify``: proofs in fractions, written by other commands and checked again."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from regretkit.cli import _arguments as arguments
from regretkit.cli._arguments import GAME_HELP, NamedGame
from regretkit.cli._console import Failure, answer, reason
from regretkit.evaluation import Certificate, GapCertificate
from regretkit.evaluation._gap_certificate import read_certificate

_MOST = 3
"""Floats whose fractions are shown at most."""


def write_certificate(
    proof: Certificate | GapCertificate,
    path: Path | None,
    report: dict[str, Any],
    lines: list[str],
) -> None:
    """Report a proof, and write it."""
    facts, told = _described(proof)
    report |= {**facts, "certificate": path and str(path)}
    lines += told
    if path is not None:
        proof.to_json(path)
        lines.append(f"certificate written to {path}")


def _described(proof: Certificate | GapCertificate) -> tuple[dict[str, Any], list[str]]:
    """Return what a proof proves, as a report and as lines."""
    if isinstance(proof, Certificate):
        facts: dict[str, Any] = {"fraction": str(proof.value)}
        lines = [f"exactly {proof.value}"]
    else:
        earned, gaps = ([*map(str, values)] for values in (proof.lower, proof.gaps))
        facts = {"notion": proof.notion, "earned": earned, "gaps": gaps}
        lines = [f"exactly {proof}"]
    meant = [f"{value:g} as {_short(read)}" for value, read in proof.readings.items()]
    more = [f"{len(meant) - _MOST} more"] if len(meant) > _MOST else []
    lines += [f"read    {', '.join(meant[:_MOST] + more)}"] if meant else []
    readings = {repr(value): str(read) for value, read in proof.readings.items()}
    return facts | {"readings": readings}, lines


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) < 40 else f"a fraction of {len(text) - 1} digits"


@click.command(short_help="Check a proof in fractions.", epilog=GAME_HELP)
@click.argument("certificate", metavar="CERTIFICATE")
@arguments.game
@arguments.as_json
def verify(certificate: str, game: NamedGame, as_json: bool) -> int:
    """Compute again, in fractions and from the game alone, what CERTIFICATE proves.

    CERTIFICATE is a file that exact or evaluate wrote with --certificate.
    """
    try:
        proof = read_certificate(certificate)
        proof.verify(game.played)
    except OSError as error:
        raise Failure(f"CERTIFICATE: cannot read {certificate}: {reason(error)}") from error
    except (TypeError, ValueError) as error:
        raise Failure(f"CERTIFICATE: {error}") from error
    facts, lines = _described(proof)
    report = {"game": game.name, "certificate": certificate, **facts}
    return answer(report, [f"game    {game.name}", *lines, "proven"], as_json=as_json)
