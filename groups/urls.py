"""The addresses of the pages of groups."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from groups.views import access, clusters, groups, lag

_group = [
    path("lag/", lag.lag, name="lag"),
    path("rebalances/", groups.rebalances, name="rebalances"),
    path("rebalances/<int:number>/", groups.rebalance, name="rebalance"),
    path("members/<str:member>/remove/", groups.member_remove, name="member_remove"),
    path("delete/", groups.group_delete, name="group_delete"),
]

_cluster = [
    path("groups/", groups.groups, name="groups"),
    path("groups/<str:group>/", include(_group)),
    path("topics/", clusters.topics, name="topics"),
    path("topics/<str:topic>/", clusters.topic, name="topic"),
    path("brokers/", clusters.brokers, name="brokers"),
]

urlpatterns = [
    path("", clusters.home, name="home"),
    path("clusters/<str:cluster>/", include(_cluster)),
    path("audit/", access.audit, name="audit"),
    path("tokens/", access.tokens, name="tokens"),
    path("tokens/<int:token>/delete/", access.token_delete, name="token_delete"),
    path("theme/", access.theme_set, name="theme_set"),
    path("login/", access.LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
