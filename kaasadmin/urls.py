"""Every address of the console."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path, reverse_lazy
from django.views.defaults import page_not_found, server_error
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from groups.api.problems import not_found_page, problem_page
from groups.problems import FAILED, Problem
from kaasadmin.health import healthz, readyz
from kaasadmin.metrics import metrics
from kaasadmin.views import group


@login_required
def admin_entered(request: HttpRequest) -> HttpResponse:
    """The admin pages have no sign-in form of their own: there is one door, and it counts tries."""
    if not request.user.is_staff:
        raise PermissionDenied
    return redirect("admin:index")


urlpatterns = [
    path("", include("groups.urls")),
    path("clusters/<str:cluster>/groups/<str:group>/", group, name="group"),
    path("clusters/<str:cluster>/", include("offsets.urls")),
    path("api/v1/", include("groups.api.urls")),
    path("api/v1/", include("offsets.api.urls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
    path("password/", PasswordChangeView.as_view(success_url=reverse_lazy("home")), name="password_change"),
    path("admin/login/", admin_entered),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that is none: the error object for scripts, a page for people."""
    return not_found_page(request) if _is_api(request) else page_not_found(request, exception)


def failed(request: HttpRequest) -> HttpResponse:
    """What nobody expected, outside of the API's own views."""
    if not _is_api(request):
        return server_error(request)
    message = "The console met something it did not expect; its log has the request's id."
    return problem_page(Problem(kind=FAILED, resource="request", message=message))


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


handler404 = not_found
handler500 = failed
