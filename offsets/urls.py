"""The addresses of the pages of offsets, below a group's."""

from django.urls import path

from offsets.views import files, offsets, records, resets

urlpatterns = [
    path("reset/", resets.reset, name="reset"),
    path("reset/<uuid:plan>/", resets.reset_plan, name="reset_plan"),
    path("reset/<uuid:plan>/offsets.csv", files.plan_csv, name="plan_csv"),
    path("offsets.csv", files.offsets_csv, name="offsets_csv"),
    path("offsets/delete/", offsets.offsets_delete, name="offsets_delete"),
    path("records/", records.records, name="records"),
    path("undo/", offsets.undo, name="undo"),
]
