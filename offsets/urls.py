"""The addresses of the pages of offsets: below a group's, and those about many groups below a cluster's."""

from django.urls import include, path

from offsets.views import files, offsets, records, resets, resets_many

_group = [
    path("reset/", resets.reset, name="reset"),
    path("reset/<uuid:plan>/", resets.reset_plan, name="reset_plan"),
    path("reset/<uuid:plan>/offsets.csv", files.plan_csv, name="plan_csv"),
    path("offsets.csv", files.offsets_csv, name="offsets_csv"),
    path("offsets/delete/", offsets.offsets_delete, name="offsets_delete"),
    path("records/", records.records, name="records"),
    path("undo/", offsets.undo, name="undo"),
]

urlpatterns = [
    path("groups/<str:group>/", include(_group)),
    path("groups-reset/", resets_many.groups_reset, name="groups_reset"),
    path("groups-reset/<uuid:job>/", resets_many.groups_reset_plan, name="groups_reset_plan"),
]
