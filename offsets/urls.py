"""The addresses of the pages of offsets, below a group's."""

from django.urls import path

from offsets.views import offsets, records, resets

urlpatterns = [
    path("reset/", resets.reset, name="reset"),
    path("reset/<uuid:plan>/", resets.reset_plan, name="reset_plan"),
    path("offsets/delete/", offsets.offsets_delete, name="offsets_delete"),
    path("records/", records.records, name="records"),
    path("undo/", offsets.undo, name="undo"),
]
