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
        from offsets.services import plan_job, reset_many

        kinds[reset_many.KIND] = reset_many.RESET_MANY
        partition_kinds[plan_job.KIND] = plan_job.PLAN_APPLY
        extension.described_beside["armed_reset"] = armed_reset
        extension.group_emptied.connect(group_emptied, dispatch_uid="armed_resets")
