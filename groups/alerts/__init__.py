"""Alerts: rules over groups, the alerts that they give, and webhooks that are told."""
