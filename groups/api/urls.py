"""The addresses of the groups API, below /api/v1/."""

from django.urls import path

from groups.api.access import AuditListView, TokenListView, TokenView
from groups.api.alerts import (
    AlertListView,
    DeliveryListView,
    RuleListView,
    RuleView,
    WebhookListView,
    WebhookTestView,
    WebhookView,
)
from groups.api.clusters import BrokerListView, ClusterListView, TopicGroupListView, TopicListView
from groups.api.groups import (
    GroupListView,
    GroupView,
    MemberListView,
    MemberView,
    RebalanceListView,
    RebalanceView,
)
from groups.api.jobs import JobItemListView, JobListView, JobPlanView, JobStartView, JobView
from groups.api.lag import LagView

CLUSTER = "clusters/<str:cluster>"
GROUP = f"{CLUSTER}/groups/<str:group>"

urlpatterns = [
    path("clusters/", ClusterListView.as_view()),
    path(f"{CLUSTER}/groups/", GroupListView.as_view()),
    path(f"{GROUP}/", GroupView.as_view()),
    path(f"{GROUP}/members/", MemberListView.as_view()),
    path(f"{GROUP}/members/<str:member>/", MemberView.as_view()),
    path(f"{GROUP}/lag/", LagView.as_view()),
    path(f"{GROUP}/rebalances/", RebalanceListView.as_view()),
    path(f"{GROUP}/rebalances/<int:number>/", RebalanceView.as_view()),
    path(f"{CLUSTER}/topics/", TopicListView.as_view()),
    path(f"{CLUSTER}/topics/<str:topic>/groups/", TopicGroupListView.as_view()),
    path(f"{CLUSTER}/brokers/", BrokerListView.as_view()),
    path(f"{CLUSTER}/jobs/", JobPlanView.as_view()),
    path("jobs/", JobListView.as_view()),
    path("jobs/<uuid:job>/", JobView.as_view()),
    path("jobs/<uuid:job>/start/", JobStartView.as_view()),
    path("jobs/<uuid:job>/items/", JobItemListView.as_view()),
    path("alerts/", AlertListView.as_view()),
    path("alerts/rules/", RuleListView.as_view()),
    path("alerts/rules/<int:rule>/", RuleView.as_view()),
    path("alerts/webhooks/", WebhookListView.as_view()),
    path("alerts/webhooks/<int:webhook>/", WebhookView.as_view()),
    path("alerts/webhooks/<int:webhook>/test/", WebhookTestView.as_view()),
    path("alerts/deliveries/", DeliveryListView.as_view()),
    path("audit/", AuditListView.as_view()),
    path("tokens/", TokenListView.as_view()),
    path("tokens/<int:token>/", TokenView.as_view()),
]
