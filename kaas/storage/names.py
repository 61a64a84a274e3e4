"""File names for group ids.

Rules: every id has one name, no two ids share one, and no id leaves its folder. A plain id stays readable: bytes
other than letters, digits, `_`, `-` and `.` are percent-encoded, and so is a leading dot. A name longer than 200
bytes is its first 150 bytes, `~` and 32 hex digits of the id's SHA-256; the id itself stands inside the file. The
empty id is `%`.
Must not know: what the files hold.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

LONGEST_BYTES = 200
KEPT_BYTES = 150
EMPTY = "%"


def file_stem(group_id: str) -> str:
    """The name without its ending."""
    if not group_id:
        return EMPTY
    name = quote(group_id, safe="", errors="surrogatepass").replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) <= LONGEST_BYTES:
        return name
    digest = hashlib.sha256(group_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[:KEPT_BYTES]}~{digest[:32]}"


def id_of_stem(stem: str) -> str:
    """The group id of a name. Of a name that was cut short only the part that it keeps."""
    return "" if stem == EMPTY else unquote(stem, errors="surrogatepass")
