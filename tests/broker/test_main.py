"""`python -m kaas.broker`: the command line, signals, exit statuses."""

import gc
import os
import signal
import subprocess
import sys

import pytest
import structlog

from kaas.broker.__main__ import GC_THRESHOLDS, SWITCH_S, arguments, main, tune_interpreter
from tests.support.broker import ROOT, BrokerProcess
from tests.support.waiting import until


def run(*options):
    command = [sys.executable, "-m", "kaas.broker", "--port", "0", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)


def test_options_have_defaults():
    options = arguments([])
    assert (options.port, options.host, str(options.data), options.broker_id) == (9092, "127.0.0.1", "data", 1)
    assert (options.redis, options.set) == (None, [])


def test_settings_are_given_one_by_one():
    assert arguments(["--set", "a=1", "--set", "b=2"]).set == ["a=1", "b=2"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_in_order(tmp_path, number):
    with BrokerProcess(tmp_path / "data") as broker:
        os.kill(broker.pid, number)
        until(lambda: not broker.is_alive)
        assert "event=stopped" in broker.log
        assert broker.stop() == 0


def test_it_tells_which_port_it_took(tmp_path):
    with BrokerProcess(tmp_path / "data", port=0) as broker:
        assert broker.port > 0 and f"PLAINTEXT=127.0.0.1:{broker.port}" in broker.log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "group.max.sise=3"], "did you mean group.max.size"),
        (["--set", "nonsense"], "name=value"),
        (["--data", "/dev/null/no"], "Not a directory"),
        (["--host", "192.0.2.1"], "address"),
    ],
)
def test_what_cannot_be_ends_it_with_one_line(tmp_path, options, words):
    ended = run("--data", str(tmp_path), *options)
    assert ended.returncode == 1 and words in ended.stderr
    assert ended.stderr.count("\n") == 1 and ended.stderr.startswith("kaas.broker: ")


def test_a_second_broker_on_the_same_folder_does_not_start(tmp_path):
    with BrokerProcess(tmp_path / "data") as broker:
        ended = run("--data", str(broker.data))
        assert ended.returncode == 1 and f"process {broker.pid}" in ended.stderr


def test_main_returns_its_status(tmp_path, capsys):
    configuration = structlog.get_config()
    assert main(["--data", str(tmp_path), "--set", "nonsense"]) == 1
    structlog.configure(**configuration)  # loggers of other tests hold on to its list of processors
    assert "name=value" in capsys.readouterr().err


def test_the_interpreter_is_tuned_for_a_loop_beside_threads():
    thresholds, switch_s = gc.get_threshold(), sys.getswitchinterval()
    try:
        tune_interpreter()
        assert gc.get_threshold() == GC_THRESHOLDS and gc.get_freeze_count() > 0
        assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(switch_s)
