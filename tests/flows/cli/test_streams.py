"""What is printed: nothing that this process knows to be secret, whoever prints it."""

import io
import sys
from pathlib import Path

import pytest

from ndcg_ab.config.secrets import redaction
from ndcg_ab.config.secrets.redaction import remember_secret
from ndcg_ab.flows.cli.streams import prepare_streams
from tests.commands import invoke


def test_streams_say_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_secret("k3y-of-the-streams")
    streams = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    prepare_streams()
    prepare_streams()
    print("found k3y-of-the-streams")
    print("found k3y-of-the-streams", file=sys.stderr)
    assert [stream.getvalue() for stream in streams] == ["found •••\n"] * 2


def test_a_configuration_that_is_refused_is_quoted_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_known", set())  # other tests' secrets hide more
    redaction.clear_secret_caches()
    path = tmp_path / "c.yaml"
    path.write_text("name: t\njudgments: q\nsystems: [{name: a, file: a.run}]\n")
    told = {"systems.b.file": "http://me:•••@h", "prefect.retries": "prefect.retries: holds what looks like a secret"}
    for key, said in told.items():
        setting = f"{key}=http://me:pl4in-w0rd@h"
        found = invoke(["check", str(path), "--set", setting])
        assert found.exit_code == 2
        assert said in found.output
        assert "pl4in" not in found.output
