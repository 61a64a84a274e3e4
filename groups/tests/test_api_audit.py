"""GET /api/v1/audit/."""

from __future__ import annotations

import pytest

from groups.audit import audited

AUDIT = "/api/v1/audit/"


@pytest.fixture
def rows(db):
    with audited(actor="ann", action="group_delete", cluster="local", group_id="shop", before={"n": 1}) as row:
        row.after = {"n": 2}
    with audited(actor="bob", action="offsets_reset", cluster="local", group_id="vault", before={"n": 1}):
        pass
    with audited(actor="ann", action="role_change"):
        pass


def actions(answer):
    return [(row["actor"], row["action"]) for row in answer["items"]]


def test_it_works(api, rows):
    answer = api("GET", f"{AUDIT}?group_id=shop")
    (row,) = answer["items"]
    assert row["at"].endswith("+00:00") and (row["actor"], row["action"]) == ("ann", "group_delete")
    assert (row["cluster"], row["group_id"], row["before"], row["after"]) == ("local", "shop", {"n": 1}, {"n": 2})
    assert row["outcome"] == "done" and answer["total"] == 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("actor=ann&cluster=local", [("ann", "group_delete")]),
        ("action=offsets_reset", [("bob", "offsets_reset")]),
        ("group_id=nobody", []),
        ("actor=ann&page_size=1", [("ann", "role_change")]),
        ("actor=ann&page_size=1&page=2", [("ann", "group_delete")]),
    ],
)
def test_it_filters_and_pages(api, rows, query, expected):
    assert actions(api("GET", f"{AUDIT}?{query}")) == expected


def test_it_shows_rows_of_visible_groups_only(make_caller, rows):
    answer = make_caller("read", group_pattern="sh*")("GET", AUDIT)
    assert actions(answer) == [("ann", "group_delete")] and answer["total"] == 1


@pytest.mark.parametrize("query", ["page=0", "colour=blue", "group_id=%00", "actor=" + "x" * 401])
def test_it_refuses_what_makes_no_sense(api, rows, query):
    api("GET", f"{AUDIT}?{query}", expect=400)
