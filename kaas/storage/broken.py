"""Groups whose stored state cannot be read, and why.

Job: say of a group id whether it is one of them.
Rules: they are kept by file name, because of a long id nothing but its cut name may be known.
Must not know: what was wrong with the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kaas.storage.names import file_stem, id_of_stem


class BrokenGroups(Mapping[str, str]):
    """Group id to a sentence. Iterates over ids; of an id that is too long for a file name over the part that is
    known.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def add(self, stem: str, reason: str) -> None:
        """The group of this file name; the reason that came first stays."""
        self._reasons.setdefault(stem, reason)

    def __getitem__(self, group_id: str) -> str:
        return self._reasons[file_stem(group_id)]

    def __iter__(self) -> Iterator[str]:
        return (id_of_stem(stem) for stem in self._reasons)

    def __len__(self) -> int:
        return len(self._reasons)
