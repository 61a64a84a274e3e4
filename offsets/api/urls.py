"""The addresses of the offsets API, below /api/v1/."""

from django.urls import path

from groups.api.urls import GROUP
from offsets.api.offsets import OffsetListView, UndoView
from offsets.api.plans import PlanApplyView, PlanArmView, PlanJobView, PlanListView, PlanView
from offsets.api.records import RecordListView

PLAN = f"{GROUP}/reset-plans/<uuid:plan>"

urlpatterns = [
    path(f"{GROUP}/offsets/", OffsetListView.as_view()),
    path(f"{GROUP}/records/", RecordListView.as_view()),
    path(f"{GROUP}/reset-plans/", PlanListView.as_view()),
    path(f"{PLAN}/", PlanView.as_view()),
    path(f"{PLAN}/apply/", PlanApplyView.as_view()),
    path(f"{PLAN}/job/", PlanJobView.as_view()),
    path(f"{PLAN}/arm/", PlanArmView.as_view()),
    path(f"{GROUP}/undo/", UndoView.as_view()),
]
