"""What all pages share: who asks, what stands around a page, and how a problem looks.

Job: the decorator of every page view, the context that the frame of a page needs, checked parameters and forms.
Rules: a view parses, calls one selector or service, and shows a template. What goes wrong below it becomes a page with the
status and the words of the problem.
Must not know: what a page is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from rest_framework.exceptions import ValidationError

from groups.access import Principal
from groups.api.base import StrictSerializer, checked
from groups.authentication import principal_of_user
from groups.feeds import feed_of
from groups.keys import id_of
from groups.problems import Problem, invalid, not_found
from groups.selectors import cluster_list

View = Callable[..., HttpResponse]
Context = dict[str, Any]


def page(view: View) -> View:
    """A page for people who are signed in: the view gets the principal after the request."""

    @login_required
    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        principal = principal_of_user(request.user)
        try:
            return view(request, principal, *args, **kwargs)
        except Problem as problem:
            return problem_page(request, principal, problem, kwargs.get("cluster"))

    return shown


def show(
    request: HttpRequest,
    principal: Principal,
    template: str,
    context: Context,
    *,
    cluster: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """A template inside the frame: the clusters to switch between, and how old and whole the shown cluster's data is."""
    known = cluster_list(principal)["items"]
    only = known[0]["name"] if len(known) == 1 else None
    shown = next((row for row in known if row["name"] == (cluster or only)), None)
    frame = {"principal": principal, "clusters": known, "cluster": shown}
    if shown is not None:
        frame["feed_problems"] = feed_of(shown["name"]).problems()
    return render(request, template, {**frame, **context}, status=status)


def problem_page(request: HttpRequest, principal: Principal, problem: Problem, cluster: str | None) -> HttpResponse:
    """What went wrong as a page; a cluster that is not connected has a page of its own."""
    context = {"problem": problem.as_dict(), "status": problem.kind.status}
    return show(request, principal, "problem.html", context, cluster=cluster, status=problem.kind.status)


def given(query: QueryDict, lists: Iterable[str] = ()) -> dict[str, Any]:
    """The values of an address or a form. What a form leaves blank was not given; `lists` may have several values."""
    values = {name: [one for one in query.getlist(name) if one] for name in query if name != "csrfmiddlewaretoken"}
    return {name: found if name in lists else found[-1] for name, found in values.items() if found}


def checked_or_problem(serializer: type[StrictSerializer], values: dict[str, Any]) -> dict[str, Any]:
    """Values as a serializer takes them.

    Raises Problem (400) with a sentence per field.
    """
    try:
        return checked(serializer, values)
    except ValidationError as refused:
        details = refused.detail if isinstance(refused.detail, dict) else {"request": refused.detail}
        sentences = {name: " ".join(map(str, texts)) for name, texts in details.items()}
        message = " ".join(f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in sentences.items())
        raise invalid(message, **sentences) from refused


def id_from(key: str, what: str) -> str:
    """The id behind a key in an address; `what` says whose ("group").

    Raises Problem (404): a key that stands for no id names nothing.
    """
    try:
        return id_of(key)
    except ValueError as problem:
        raise not_found(f"{what} {key}") from problem
