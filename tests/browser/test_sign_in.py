"""Signing in and out, as a person does it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.browser import PASSWORD, Visitor


def test_one_signs_in_with_the_keyboard_and_lands_where_one_wanted_to_go(visitor: Visitor) -> None:
    page = visitor.stranger("/audit/")
    expect(page.locator("#id_username")).to_be_focused()
    page.keyboard.type("admin")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit/")
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()


def test_a_wrong_password_is_said_and_the_field_waits_for_the_next_try(visitor: Visitor) -> None:
    page = visitor.stranger("/login/")
    page.fill("#id_username", "admin")
    page.fill("#id_password", "wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong")
    expect(page.locator("#id_password")).to_be_focused()


def test_one_signs_out_from_the_menu(visitor: Visitor) -> None:
    page = visitor.stranger("/login/")
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.locator(".user-menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login/**")
