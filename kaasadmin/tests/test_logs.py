"""kaasadmin.logs."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from kaasadmin.logs import bind_request_id, configure_logs, task_asked, task_began, task_ended


@pytest.fixture(autouse=True)
def as_it_was():
    """The very configuration of before: loggers that were used already hold on to its list of processors."""
    root = logging.getLogger()
    handlers, level, configuration = list(root.handlers), root.level, structlog.get_config()
    yield
    root.handlers, root.level = handlers, level
    structlog.configure(**configuration)


def logged(capsys, log_format):
    configure_logs(log_format=log_format, log_level="INFO")
    structlog.contextvars.bind_contextvars(request_id="r1")
    structlog.get_logger("ours").warning("it_happened", group="shop")
    logging.getLogger("theirs").warning("also %s", "this")
    try:
        secret = "kaas_hidden"  # noqa: F841 - a local variable that no trace may show
        raise ZeroDivisionError("boom")
    except ZeroDivisionError:
        structlog.get_logger("ours").exception("it_failed")
    structlog.contextvars.clear_contextvars()
    return capsys.readouterr().err


def test_machines_get_one_json_object_a_line(capsys):
    ours, theirs, failed = map(json.loads, logged(capsys, "json").splitlines())
    assert (ours["event"], ours["group"], ours["level"], ours["logger"]) == ("it_happened", "shop", "warning", "ours")
    assert ours["request_id"] == theirs["request_id"] == "r1" and theirs["event"] == "also this"
    assert "ZeroDivisionError: boom" in failed["exception"] and ours["timestamp"].endswith("Z")


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_trace_shows_no_values(capsys, log_format):
    text = logged(capsys, log_format)
    assert "ZeroDivisionError: boom" in text and "kaas_hidden\n" not in text.replace('"kaas_hidden"', "")
    assert "locals" not in text


def test_configuring_twice_does_not_log_twice(capsys):
    configure_logs(log_format="json", log_level="INFO")
    assert len(logged(capsys, "json").splitlines()) == 3


def test_quiet_libraries_stay_quiet(capsys):
    configure_logs(log_format="json", log_level="INFO")
    logging.getLogger("celery.app.trace").info("task done")
    logging.getLogger("ours").debug("detail")
    assert capsys.readouterr().err == ""


def test_answers_that_were_chosen_are_no_events(capsys):
    configure_logs(log_format="json", log_level="INFO")
    django = logging.getLogger("django.request")
    for status in (404, 503, 500):
        django.error("answered %s", status, extra={"status_code": status})
    django.error("without a status")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == [
        "answered 500",
        "without a status",
    ]


def bound():
    return structlog.contextvars.get_contextvars()


@pytest.mark.parametrize(("given", "kept"), [("proxy-17.a_B", True), ("", False), ("x" * 65, False), ("a b", False)])
def test_an_id_is_kept_when_it_is_sane_and_nothing_else_is(given, kept):
    structlog.contextvars.bind_contextvars(of="the request before")
    told = bind_request_id(given)
    assert (told == given) is kept and bound() == {"request_id": told}


class Task:
    name = "groups.tasks.history_write"

    def __init__(self, **request):
        self.request = request


def test_a_task_has_its_own_id_or_that_of_the_request_that_asked_for_it():
    structlog.contextvars.clear_contextvars()
    headers = {}
    task_asked(headers=headers)
    task_began(task=Task(**headers), task_id="t1")
    assert bound() == {"request_id": "t1", "task": Task.name}
    bind_request_id("r1")
    task_asked(headers=headers)
    task_began(task=Task(**headers), task_id="t2")
    assert bound()["request_id"] == "r1"
    task_ended()
    assert bound() == {}
