"""The app's place in Django; here it hands `groups` what only this app can tell and do."""

from django.apps import AppConfig


class OffsetsConfig(AppConfig):
    name = "offsets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from groups import extension
        from groups.jobs.kinds import kinds, partition_kinds
        from offsets.live import group_emptied
        from offsets.selectors import armed_reset
        from offsets.services.plan_job import KIND, PLAN_APPLY
        from offsets.services.reset_many import RESET_MANY

        kinds["groups_reset"] = RESET_MANY
        partition_kinds[KIND] = PLAN_APPLY
        extension.described_beside["armed_reset"] = armed_reset
        extension.group_emptied.connect(group_emptied, dispatch_uid="armed_resets")
