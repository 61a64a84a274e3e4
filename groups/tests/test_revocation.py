"""groups.revocation: sockets end, or lose what they may no longer see, as soon as a right is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from groups import live, revocation
from groups.models import RoleBinding, Token
from groups.routing import websocket_urlpatterns
from groups.testing.feed import snapshot
from groups.testing.sockets import HOST, LiveClient

LIST = "/ws/clusters/local/groups/"
ONE = "/ws/clusters/local/groups/shop/"


@pytest.fixture(autouse=True)
def never_asked_by_itself(monkeypatch):
    """What ends a socket here was told to it."""
    monkeypatch.setattr(live, "RIGHTS_EVERY_S", 10_000.0)


@sync_to_async
def signed_in(name="ann", *, password="first", group=None):
    """A browser that is signed in, whose user has a role of its own or is in a Django group."""
    user, is_new = get_user_model().objects.get_or_create(username=name)
    if is_new:
        user.set_password(password)
        user.save()
        if group is None:
            RoleBinding.objects.create(user=user, role="read")
        else:
            user.groups.add(Group.objects.get(name=group))
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
async def watch(listen):
    """Opens a socket with a browser's session."""
    application = AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
    opened = []

    async def watching(browser, path=LIST):
        cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
        opened.append(LiveClient(application, path, origin=f"http://{HOST}", cookie=cookie))
        assert await opened[-1].open()
        await opened[-1].next()
        return opened[-1]

    yield watching
    for socket in opened:
        await socket.leave()


async def end(socket):
    assert await socket.closed() == live.DENIED


@pytest.mark.parametrize("path", [LIST, ONE])
async def test_a_binding_that_is_deleted_ends_a_users_sockets(watch, path):
    socket = await watch(await signed_in(), path)
    await RoleBinding.objects.filter(user__username="ann").adelete()
    await end(socket)


async def test_a_binding_that_becomes_narrower_takes_the_group_away_and_leaves_the_list(watch, feed):
    browser = await signed_in()
    one, all_groups = await watch(browser, ONE), await watch(browser)
    binding = await RoleBinding.objects.aget(user__username="ann")
    binding.group_pattern = "team-*"
    await binding.asave()
    await end(one)
    feed.group(snapshot("vault"))
    feed.group(snapshot("team-a"))
    assert (await all_groups.next())["event"]["group_id"] == "team-a"


async def test_leaving_a_django_group_ends_them(watch):
    socket = await watch(await signed_in(group="viewer"))
    user = await get_user_model().objects.aget(username="ann")
    await user.groups.aclear()
    await end(socket)


async def test_a_django_group_without_its_binding_ends_them(watch):
    socket = await watch(await signed_in(group="viewer"))
    await RoleBinding.objects.filter(group__name="viewer").adelete()
    await end(socket)


async def test_a_deleted_django_group_ends_them(watch):
    socket = await watch(await signed_in(group="viewer"))
    await Group.objects.filter(name="viewer").adelete()
    await end(socket)


async def test_a_user_who_is_switched_off_or_deleted_has_no_sockets(watch):
    for name, act in (("ann", switch_off), ("bob", delete)):
        socket = await watch(await signed_in(name))
        await act(await get_user_model().objects.aget(username=name))
        await end(socket)


async def switch_off(user):
    user.is_active = False
    await user.asave()


async def delete(user):
    await user.adelete()


async def test_signing_out_ends_the_sockets_of_that_session_only(watch, feed):
    gone, stays = await signed_in(), await signed_in()
    first, second = await watch(gone), await watch(stays)
    await sync_to_async(gone.post)("/logout/")
    await end(first)
    feed.group(snapshot("shop"))
    assert (await second.next())["event"]["group_id"] == "shop"


async def test_a_new_password_ends_the_other_sessions_and_their_sockets(watch):
    elsewhere, here = await signed_in(), await signed_in()
    socket = await watch(elsewhere)
    form = {"old_password": "first", "new_password1": "second-Passw0rd", "new_password2": "second-Passw0rd"}
    answer = await sync_to_async(here.post)("/password/", form)
    assert answer.status_code == 302, answer.content
    await end(socket)
    assert (await sync_to_async(elsewhere.get)("/")).url.startswith("/login/")
    assert "/login/" not in (await sync_to_async(here.get)("/")).get("Location", "")


async def test_a_revoked_token_ends_its_sockets(listen, make_caller):
    reader = await sync_to_async(make_caller)("read")
    socket = await listen(LIST.removeprefix("/ws/clusters/"), token=reader.token)
    await socket.next()
    await Token.objects.filter(owner__username="caller").adelete()
    await end(socket)


@pytest.fixture
def told(monkeypatch, db, django_capture_on_commit_callbacks):
    """Whom a block told about."""
    heard = []
    monkeypatch.setattr(revocation, "access_changed", heard.append)

    def during(act):
        heard.clear()
        with django_capture_on_commit_callbacks(execute=True):
            act()
        return list(heard)

    return during


def test_only_the_users_own_sockets_are_told(told):
    ann = get_user_model().objects.create_user("ann")
    binding = RoleBinding.objects.create(user=ann, role="read")
    token = Token.objects.create(owner=ann, name="t", digest="d", role="read")
    assert told(binding.delete) == [ann.pk] and told(token.delete) == [ann.pk] and told(ann.save) == [ann.pk]


def test_what_changes_for_a_django_group_is_told_to_all(told):
    viewer = Group.objects.get(name="viewer")
    viewer.user_set.add(get_user_model().objects.create_user("ann"))
    assert told(viewer.user_set.clear) == [None]
    assert None in told(viewer.delete)


def test_new_rights_and_what_was_over_anyway_disturb_nobody(told):
    past = timezone.now() - timedelta(days=1)
    ann = get_user_model().objects.create_user("ann")

    def new():
        RoleBinding.objects.create(user=ann, role="read")
        Token.objects.create(owner=ann, name="t", digest="d", role="read", expires_at=past)
        ann.groups.add(Group.objects.get(name="viewer"))

    def over():
        Token.objects.all().delete()
        Session.objects.all().delete()

    assert told(new) == []
    Session.objects.create(session_key="s", session_data="", expire_date=past)
    assert told(over) == []
    assert told(lambda: Client().force_login(ann)) == []
