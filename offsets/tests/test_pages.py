"""The pages of resets, deletions and undo, without a browser: plain forms all the way."""

from __future__ import annotations

import html

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import Client

from groups.choices import Role
from groups.models import OffsetBackup, RoleBinding
from groups.problems import Problem
from groups.testing.feed import member_view, snapshot
from groups.testing.pages import words
from kaas.errors import ErrorCode
from offsets.models import ResetPlan
from offsets.views import resets
from offsets.views.forms import FILE_BYTES, partitions_of, plan_body, scope_topics

GROUP = "/clusters/local/groups/shop/"
RESET = f"{GROUP}reset/"
ALL = {"scope": "all"}


@pytest.fixture
def shop(world):
    """An empty group that committed 4 and 6 of ten."""
    world.topic("orders", 10, 10)
    world.topic("bills", 5)
    world.group("shop", {("orders", 0): 4, ("orders", 1): 6})
    world.read()
    return world


@pytest.fixture
def live(world):
    """A group with a member."""
    world.topic("orders", 10)
    world.group("shop", {("orders", 0): 4}, members=[member_view("one-1", {"orders": [0]})])
    world.read()
    return world


@pytest.fixture
def client(admin_client):
    return admin_client


def planned(client: Client, **form: str) -> str:
    """The address of a plan made by the form."""
    response = client.post(RESET, {**ALL, **form})
    assert response.status_code == 302, words(response)
    return response["Location"]


def offsets(world) -> dict[tuple[str, int], int]:
    return {place: held.offset for place, held in world.gateway.groups["shop"].offsets.items()}


def test_the_form_lists_strategies_and_topics(client, shop):
    page = words(client.get(RESET))
    assert "Reset offsets of shop" in page and "The log's start" in page and "Where another group is" in page
    assert 'name="partitions:orders"' in client.get(RESET).content.decode()


def test_a_plan_is_made_shown_and_applied(client, shop):
    address = planned(client, strategy="earliest")
    page = words(client.get(address))
    assert "orders 0 4 → 0 – 4" in page and "orders 1 6 → 0 – 6" in page
    assert "--reset-offsets --to-earliest --all-topics --execute" in page and offsets(shop)[("orders", 0)] == 4
    done = client.post(address, {"act": "apply"})
    assert "every partition reads back as asked" in words(done) and "orders 0 4 → 0 0 Done" in words(done)
    assert offsets(shop) == {("orders", 0): 0, ("orders", 1): 0}


def test_a_plan_is_applied_once(client, shop):
    address = planned(client, strategy="latest")
    client.post(address, {"act": "apply"})
    again = client.post(address, {"act": "apply"})
    assert again.status_code == 409 and "a plan is applied once" in words(again)


@pytest.mark.parametrize(
    ("form", "after"),
    [
        ({"strategy": "offset", "value_offset": "3"}, {0: 3, 1: 3}),
        ({"strategy": "offset", "value_offset": "1,000"}, {0: 10, 1: 10}),
        ({"strategy": "shift", "value_shift": "-5"}, {0: 0, 1: 1}),
        ({"strategy": "csv", "value_csv": "orders,0,7\norders,1,1\n"}, {0: 7, 1: 1}),
        ({"strategy": "latest", "value_offset": "ignored"}, {0: 10, 1: 10}),
        ({"strategy": "timestamp", "value_timestamp": " 2026-01-01T00:00:00+01:00 "}, {0: 10, 1: 10}),
        ({"strategy": "earliest", "scope": "topics", "topic": "orders", "partitions:orders": "1"}, {1: 0}),
    ],
)
def test_each_strategy_reads_its_own_field(client, shop, form, after):
    plan = ResetPlan.objects.get(pk=planned(client, **form).split("/")[-2])
    assert {item["partition"]: item["after"] for item in plan.items} == after


def test_offsets_go_out_as_a_file_and_come_in_as_one(client, shop):
    out = client.get(f"{GROUP}offsets.csv")
    assert out.content == b"orders,0,4\norders,1,6\n" and 'filename="shop.csv"' in out["Content-Disposition"]
    file = SimpleUploadedFile("offsets.csv", b"\xef\xbb\xbforders,1,9\n")
    address = client.post(RESET, {**ALL, "strategy": "csv", "file_csv": file})["Location"]
    assert client.get(f"{address}offsets.csv").content == b"orders,1,9\n"
    client.post(address, {"act": "apply"})
    assert offsets(shop) == {("orders", 0): 4, ("orders", 1): 9}


@pytest.mark.parametrize(
    ("data", "said"), [(b"\xff", "no text in UTF-8"), (b"x" * (FILE_BYTES + 1), "larger"), (b"a,b", "Line 1")]
)
def test_a_file_that_is_no_offsets_is_refused(client, shop, data, said):
    file = SimpleUploadedFile("offsets.csv", data)
    response = client.post(RESET, {**ALL, "strategy": "csv", "file_csv": file})
    assert response.status_code == 400 and said in words(response)


def test_a_topic_that_was_never_read_and_a_group_that_was_never_seen_can_be_planned(client, shop):
    form = {"strategy": "earliest", "scope": "topics", "other_topic": "bills", "other_partitions": "0"}
    address = client.post("/clusters/local/groups/new-one/reset/", form)["Location"]
    assert "bills 0 none → 0" in words(client.get(address))


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"strategy": "offset", "value_offset": "many"}, "'many' is not a whole number."),
        ({"strategy": "offset", "value_offset": "-1"}, "takes a whole number from 0"),
        ({"strategy": "timestamp", "value_timestamp": "2026-01-01T00:00:00"}, "has no zone"),
        ({"strategy": "duration", "value_duration": "soon"}, "is no ISO 8601 duration"),
        ({"strategy": "sideways"}, "Strategy:"),
        ({"strategy": "earliest", "scope": "topics", "topic": "orders", "partitions:orders": "0-x"}, "is no partition"),
        ({"strategy": "earliest", "scope": "topics", "other_topic": "nowhere"}, "nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_on_the_form_and_kept(client, shop, form, said):
    response = client.post(RESET, {**ALL, **form})
    assert response.status_code in (400, 404) and said in words(response)
    kept = next((value for name, value in form.items() if name.startswith(("value_", "partitions:"))), "")
    assert html.escape(kept) in response.content.decode() and not ResetPlan.objects.exists()


def test_a_live_group_can_be_planned_and_armed_but_not_reset(client, live):
    address = planned(client, strategy="earliest")
    page = words(client.get(address))
    assert "It cannot be applied now." in page and "stop them first, or arm the reset" in page
    assert client.post(address, {"act": "apply"}).status_code == 409
    assert client.post(address, {"act": "arm"})["Location"] == GROUP
    assert "A reset is armed by admin" in words(client.get(GROUP))
    assert client.post(address, {"act": "drop"})["Location"] == GROUP
    assert "A reset is armed" not in words(client.get(GROUP))


def test_a_plan_that_is_out_of_date_is_refused_with_what_changed(client, shop):
    address = planned(client, strategy="earliest")
    shop.group("shop", {("orders", 0): 5, ("orders", 1): 6})
    response = client.post(address, {"act": "apply"})
    assert response.status_code == 409 and "orders 0 went from 4 to 5: by a commit" in words(response)


def test_a_partition_that_refuses_is_told_beside_those_that_did_not(client, shop):
    address = planned(client, strategy="earliest")
    shop.gateway.codes["orders", 1] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    page = words(client.post(address, {"act": "apply"}))
    assert "only a part was done" in page and "orders 0 4 → 0 0 Done" in page and "orders 1 6 → 0 6 Failed" in page


def test_undo_shows_what_it_would_put_back_and_does_it_once(client, shop):
    assert client.get(f"{GROUP}undo/").status_code == 404
    client.post(planned(client, strategy="latest"), {"act": "apply"})
    assert "Offsets reset by admin" in words(client.get(GROUP))
    page = words(client.get(f"{GROUP}undo/"))
    assert "orders 0 10 → 4" in page
    assert "every partition reads back as asked" in words(client.post(f"{GROUP}undo/"))
    assert offsets(shop) == {("orders", 0): 4, ("orders", 1): 6}
    assert client.post(f"{GROUP}undo/").status_code == 404


def test_undo_names_what_can_be_undone_and_a_reader_chooses(client, shop):
    client.post(planned(client, strategy="latest"), {"act": "apply"})
    client.post(planned(client, strategy="earliest"), {"act": "apply"})
    page = words(client.get(f"{GROUP}undo/"))
    assert "Which one 2" in page and page.count("Offsets reset admin") == 2 and "orders 0 0 → 10" in page
    older = OffsetBackup.objects.order_by("pk").first().pk
    assert "orders 0 0 → 4" in words(client.get(f"{GROUP}undo/", {"id": older}))
    client.post(f"{GROUP}undo/?id={older}")
    assert offsets(shop) == {("orders", 0): 4, ("orders", 1): 6}
    assert client.get(f"{GROUP}undo/", {"id": older}).status_code == 404


def test_a_result_of_very_many_partitions_shows_what_failed_first(client, shop, monkeypatch):
    monkeypatch.setattr(resets, "PLAN_ROWS", 1)
    address = planned(client, strategy="earliest")
    shop.gateway.codes["orders", 1] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    page = words(client.post(address, {"act": "apply"}))
    assert "1 of 2 partitions, those that failed first" in page and "orders 1 6 → 0 6 Failed" in page


def test_undo_of_a_group_with_members_says_why_not_and_what_there_is(client, shop):
    client.post(planned(client, strategy="latest"), {"act": "apply"})
    shop.feed.group(snapshot("shop", members=[member_view("one-1")]))
    page = words(client.get(f"{GROUP}undo/"))
    assert "1 live member" in page and "Offsets reset admin" in page and "Put them back" not in page


def test_the_page_of_a_deleted_group_leads_to_its_undo(client, shop):
    client.post(f"{GROUP}delete/")
    shop.feed.gone("shop")
    shop.read()
    response = client.get(GROUP)
    assert response.status_code == 404 and "Group delete by admin" in words(response)
    client.post(f"{GROUP}undo/")
    assert offsets(shop) == {("orders", 0): 4, ("orders", 1): 6}


def test_offsets_are_deleted_by_topic_and_partition(client, shop):
    """The button of a topic did nothing.

    https://github.com/redpanda-data/console/issues/2002
    """
    address = f"{GROUP}offsets/delete/"
    assert "Delete committed offsets?" in words(client.get(address))
    response = client.post(address, {"topic": "orders", "partitions:orders": "1"})
    assert response["Location"] == GROUP and offsets(shop) == {("orders", 0): 4}


def test_nothing_chosen_deletes_nothing(client, shop):
    response = client.post(f"{GROUP}offsets/delete/")
    assert response.status_code == 400 and "Nothing is chosen" in words(response) and len(offsets(shop)) == 2


def test_a_topic_that_a_member_reads_is_refused(client, live):
    response = client.post(f"{GROUP}offsets/delete/", {"topic": "orders"})
    assert response.status_code == 409 and "GROUP_SUBSCRIBED_TO_TOPIC (86)" in words(response)


def test_a_viewer_is_refused_on_every_page_that_writes(db, shop):
    viewer = get_user_model().objects.create_user("vera")
    RoleBinding.objects.create(user=viewer, role=Role.READ)
    client = Client()
    client.force_login(viewer)
    for path in (RESET, f"{GROUP}undo/", f"{GROUP}offsets/delete/"):
        assert client.get(path).status_code == 403 and client.post(path).status_code == 403


def test_plans_of_others_groups_are_not_found_here(client, shop):
    address = planned(client, strategy="earliest")
    assert client.get(address.replace("/shop/", "/other/")).status_code == 404


# What forms mean


@pytest.mark.parametrize(("text", "numbers"), [("", None), ("  ", None), ("3", [3]), ("0-2, 5", [0, 1, 2, 5])])
def test_partitions_are_read_as_numbers_and_ranges(text, numbers):
    assert partitions_of(text) == numbers


@pytest.mark.parametrize("text", ["a", "1;2", "-1", "1-", "0-99999999", "1.5", "5-3", "٣-x"])
def test_partitions_that_are_none_are_refused(text):
    with pytest.raises(Problem):
        partitions_of(text)


def test_a_scope_is_the_chosen_topics_and_another_one():
    form = QueryDict("topic=a&topic=b&partitions:b=1&other_topic=c")
    assert scope_topics(form) == [{"topic": "a"}, {"topic": "b", "partitions": [1]}, {"topic": "c"}]
    assert plan_body(QueryDict("strategy=earliest&scope=all"))["scope"] == {"all": True}
    assert plan_body(QueryDict("strategy=earliest"))["scope"] == {"topics": []}
