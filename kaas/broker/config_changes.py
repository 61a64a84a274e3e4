"""What a request to change settings means, against what is set now.

Job: operations of IncrementalAlterConfigs, and the whole sets of AlterConfigs, as new values by name.
Rules: the answers are Apache's: a name twice, or a value that is missing, is INVALID_REQUEST; an item can only be added to or
taken from a list, else INVALID_CONFIG. A list to which nothing was set is added to as it is in force. Taking back what is not
set, or what does not exist, changes nothing.
Must not know: which settings there are (`Kind` says so), where they are kept.
Source: KIP-339 (operations); seen on Apache Kafka 4.2: ConfigAdminManager, ConfigurationControlManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kaas.broker.settings import BadSetting
from kaas.broker.settings_table import Setting, known, list_items
from kaas.errors import ErrorCode, KafkaError

Changes = dict[str, str | None]


class Operation(IntEnum):
    """What is done with a setting, by Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Step(NamedTuple):
    """One operation. The value of a DELETE does not matter."""

    name: str
    operation: int
    value: str | None


def check_names(names: Iterable[str]) -> None:
    """Raises KafkaError INVALID_REQUEST when one comes twice."""
    names = list(names)
    if len(set(names)) < len(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")


def incremental(steps: list[Step], in_force: Callable[[str], str], is_list: Callable[[str], bool]) -> Changes:
    """New values by name. `in_force` tells the present value of a list. Raises KafkaError INVALID_REQUEST, INVALID_CONFIG."""
    check_names(step.name for step in steps)
    return {step.name: _new_value(step, in_force, is_list) for step in steps}


def _new_value(step: Step, in_force: Callable[[str], str], is_list: Callable[[str], bool]) -> str | None:
    if step.operation == Operation.DELETE:
        return None
    if step.operation not in list(Operation):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation {step.operation} for {step.name}")
    if step.value is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {step.name}")
    if step.operation == Operation.SET:
        return step.value
    word = Operation(step.operation).name
    if not is_list(step.name):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Can't {word} to key {step.name} because its type is not LIST.")
    present, named = list_items(in_force(step.name)), list_items(step.value)
    if step.operation == Operation.APPEND:
        return ",".join([*present, *(item for item in named if item not in present)])
    return ",".join(item for item in present if item not in named)


def whole(values: list[tuple[str, str | None]], present: Mapping[str, str]) -> Changes:
    """New values by name that leave exactly these set. Raises KafkaError INVALID_REQUEST."""
    check_names(name for name, _ in values)
    for name, value in values:
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
    return {**dict.fromkeys(present), **dict(values)}


def check_broker(changes: Changes) -> None:
    """Whether a broker may be changed so while it runs.

    Raises KafkaError INVALID_REQUEST for a setting that is fixed at the start or a value that it cannot have, INVALID_CONFIG
    for one that does not exist. (Apache keeps those, for plug-ins, which there are none of here.)
    """
    given = {name: text for name, text in changes.items() if text is not None}
    if fixed := [name for name in given if _is_fixed(name)]:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: {', '.join(fixed)}")
    for name, text in given.items():
        try:
            setting = known(name)
        except BadSetting as problem:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(problem)) from None
        _check(setting, text, ErrorCode.INVALID_REQUEST)


def _is_fixed(name: str) -> bool:
    """Whether there is such a setting, and only the start can set it."""
    try:
        return not known(name).dynamic
    except BadSetting:
        return False


def check_group(changes: Changes, table: Mapping[str, Setting]) -> None:
    """Whether a group may be changed so. Raises KafkaError INVALID_CONFIG."""
    for name, text in changes.items():
        if text is None:
            continue
        if name not in table:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
        _check(table[name], text, ErrorCode.INVALID_CONFIG)


def _check(setting: Setting, text: str, code: ErrorCode) -> None:
    try:
        setting.parse(text)
    except BadSetting as problem:
        raise KafkaError(code, f"Invalid value for configuration: {problem}") from None
