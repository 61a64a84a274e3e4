"""What a process may do, taken from it from outside: room for files, and root's right to ignore permissions."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def room_for(file_bytes: int) -> Callable[[], None]:
    """To be run in a new process: no file of its may grow beyond this. `give_room` takes it back."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))

    return limit


def take_room(pid: int, file_bytes: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))


def give_room(pid: int) -> None:
    """Files of the process may grow again."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def obey_permissions() -> None:
    """To be run in a new process: root obeys the permissions of files as everybody does."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")
