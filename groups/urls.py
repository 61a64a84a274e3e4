"""The addresses of the pages of groups."""

from django.urls import include, path

from groups.views import access, alerts, clusters, groups, jobs, lag, openid

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
    path("groups-delete/", jobs.groups_delete, name="groups_delete"),
    path("topics/", clusters.topics, name="topics"),
    path("topics/<str:topic>/", clusters.topic, name="topic"),
    path("brokers/", clusters.brokers, name="brokers"),
]

_alerts = [
    path("", alerts.alerts, name="alerts"),
    path("rules/", alerts.rule_create, name="alert_rule_create"),
    path("rules/<int:rule>/switch/", alerts.rule_switch, name="alert_rule_switch"),
    path("rules/<int:rule>/delete/", alerts.rule_delete, name="alert_rule_delete"),
    path("webhooks/", alerts.webhook_create, name="webhook_create"),
    path("webhooks/<int:webhook>/delete/", alerts.webhook_delete, name="webhook_delete"),
    path("webhooks/<int:webhook>/test/", alerts.webhook_test, name="webhook_test"),
]

urlpatterns = [
    path("", clusters.home, name="home"),
    path("clusters/<str:cluster>/", include(_cluster)),
    path("alerts/", include(_alerts)),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<uuid:job>/", jobs.job, name="job"),
    path("jobs/<uuid:job>/cancel/", jobs.job_cancel, name="job_cancel"),
    path("audit/", access.audit, name="audit"),
    path("tokens/", access.tokens, name="tokens"),
    path("tokens/<int:token>/delete/", access.token_delete, name="token_delete"),
    path("theme/", access.theme_set, name="theme_set"),
    path("login/", access.LoginView.as_view(), name="login"),
    path("login/openid/", openid.begin, name="openid_begin"),
    path("login/openid/return/", openid.end, name="openid_end"),
    path("logout/", openid.leave, name="logout"),
]
