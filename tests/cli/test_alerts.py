"""kaas.cli.alerts. kaasadmin/tests/test_cli.py runs the command against a console."""

from __future__ import annotations

import pytest

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit
from tests.cli.conftest import listing


def alert(state):
    return {"rule": "late", "state": state, "cluster": "local", "group_id": "shop", "since": "t", "text": "9 wait."}


@pytest.mark.parametrize(
    ("states", "ends"), [([], Exit.DONE), (["pending", "resolved"], Exit.DONE), (["firing"], Exit.REFUSED)]
)
def test_a_script_learns_whether_one_fires(console, capsys, states, ends):
    console.says("GET", "/api/v1/alerts/", listing(*map(alert, states)))
    assert main(["--server", console.url, "alerts"]) == Exit.DONE
    assert main(["--server", console.url, "alerts", "--fail-if-firing", "--state", "firing"]) == ends
    assert "state=firing" in console.asked[1]["query"]
    assert capsys.readouterr().err == ("kaas: 1 alert fires.\n" if states == ["firing"] else "")
