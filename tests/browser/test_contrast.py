"""Text can be read in light and in dark: contrast is computed from the tokens, for every pair that carries text."""

from __future__ import annotations

import re

import pytest

from tests.support.broker import ROOT

READABLE = 4.5
VISIBLE = 3.0
SHADES = ("light", "dark")

TOKEN = re.compile(r"--([a-z-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)")
TOKENS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in TOKEN.findall((ROOT / "static/css/tokens.css").read_text())
}
SURFACES = ("ground", "panel", "raised", "well", "hover")
TONES = ("good", "busy", "warning", "bad", "quiet")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str, shade: str) -> float:
    """The contrast of two tokens, 1 to 21."""
    light, dark = sorted((luminance(TOKENS[name][shade]) for name in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_is_21() -> None:
    assert luminance("#ffffff") == pytest.approx(1) and luminance("#000000") == 0


@pytest.mark.parametrize("shade", SHADES)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("ink", ["ink", "soft", "faint", "accent", *TONES])
def test_text_is_readable_on_every_surface(ink: str, surface: str, shade: str) -> None:
    """https://github.com/kafbat/kafka-ui/issues/1773
    https://github.com/kafbat/kafka-ui/issues/1774
    https://github.com/kafbat/kafka-ui/issues/881
    """
    assert contrast(ink, surface, shade) >= READABLE


@pytest.mark.parametrize("shade", SHADES)
@pytest.mark.parametrize("tone", TONES)
def test_a_tone_is_readable_on_its_own_well(tone: str, shade: str) -> None:
    assert contrast(tone, f"{tone}-well", shade) >= READABLE


@pytest.mark.parametrize("shade", SHADES)
@pytest.mark.parametrize(
    ("ink", "surface"), [("on-accent", "accent"), ("on-accent", "accent-strong"), ("accent", "accent-well")]
)
def test_the_accent_carries_text(ink: str, surface: str, shade: str) -> None:
    assert contrast(ink, surface, shade) >= READABLE


@pytest.mark.parametrize("shade", SHADES)
@pytest.mark.parametrize("text", ["ink", "soft"])
def test_text_that_chosen_rows_carry_is_readable(text: str, shade: str) -> None:
    assert contrast(text, "accent-well", shade) >= READABLE


@pytest.mark.parametrize("shade", SHADES)
@pytest.mark.parametrize("shape", ["edge", "accent", "lane-joining", "lane-missing", "warning"])
def test_shapes_that_speak_stand_out_from_the_panel(shape: str, shade: str) -> None:
    assert contrast(shape, "panel", shade) >= VISIBLE


def test_no_other_file_names_a_colour() -> None:
    named = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(")
    styles = [path for path in (ROOT / "static/css").glob("*.css") if path.name != "tokens.css"]
    lines = [line for path in styles for line in path.read_text().splitlines() if named.search(line)]
    assert [line for line in lines if "url(#" not in line] == []
