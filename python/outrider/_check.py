"""Checks of arguments: each names the argument, what it is, and what can work; `Problems` says all that is wrong with a call at once."""

from __future__ import annotations

import numbers
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from time import monotonic
from typing import Any, ParamSpec, TypeVar, cast

from outrider.errors import ConfigError

P = ParamSpec("P")
T = TypeVar("T")

INT32 = (1 << 31) - 1
INT64 = (1 << 63) - 1
UINT64 = (1 << 64) - 1
MILLION = 1 << 20
"""The most that what is multiplied can be: samples of a group, groups of a batch, batches of a version, versions of a bound."""
MOST_GROUPS = 1 << 42
"""Groups that a run can have, and the most that a bound in groups or samples can be."""

_SHOWN = 80
_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TIB": 1 << 40,
}


class Problems:
    """Collects what is wrong with the arguments of one call."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def of(self, check: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Makes a check and keeps what it says; gives what it gives, or None, which nobody uses because `tell` raises."""
        try:
            return check(*args, **kwargs)
        except ConfigError as error:
            self._said.append(str(error).removeprefix("outrider: "))
            return cast("T", None)

    def say(self, problem: str) -> None:
        """Keeps a problem."""
        self._said.append(problem)

    def tell(self) -> None:
        """Says all that was kept.

        Raises:
            ConfigError: There was something: one problem as it is, several one a line.
        """
        if len(self._said) == 1:
            raise ConfigError(f"outrider: {self._said[0]}")
        if self._said:
            raise ConfigError("\n  ".join([f"outrider: {len(self._said)} arguments cannot work:", *self._said]))


def shown(value: Any) -> str:
    """A value as messages show it: never more than a line's part, whatever it is."""
    try:
        text = repr(value)
    except Exception as error:  # An integer of too many digits, or somebody's own __repr__.
        return f"<{type(value).__name__}: {type(error).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def count(name: str, value: Any, least: int, most: int = INT64) -> int:
    """Checks a count.

    Args:
        name: Of the argument, for the message.
        value: What the user gave; numpy integers count as integers, booleans and floats do not.
        least: Smallest value that works.
        most: Largest value that works.

    Returns:
        The value as an int.

    Raises:
        ConfigError: Not an integer, or out of range.
    """
    bound = f"at least {least}" if most == INT64 else f"from {least} to {most}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ConfigError(
            f"outrider: {name}={shown(value)} is a {type(value).__name__}, not an integer; give a whole number, {bound}"
        )
    if not least <= number <= most:
        raise ConfigError(f"outrider: {name}={shown(number)} is out of range; give a whole number, {bound}")
    return number


def optional_count(name: str, value: Any, least: int, most: int = INT64) -> int | None:
    """`count`, or None for None."""
    return None if value is None else count(name, value, least, most)


def counts(name: str, values: Any, least: int) -> list[int]:
    """Checks a list of counts, each as `count` does.

    Raises:
        ConfigError: No list, or one with something else in it.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ConfigError(
            f"outrider: {name}={shown(values)} is a {type(values).__name__}; give a list of whole numbers, each at least {least}"
        )
    return [count(f"{name}[{at}]", value, least) for at, value in enumerate(values)]


def text(name: str, value: Any) -> str:
    """Checks a text, which may be empty.

    Raises:
        ConfigError: Something else.
    """
    if not isinstance(value, str):
        raise ConfigError(f"outrider: {name}={shown(value)} is a {type(value).__name__}; give a str")
    return value


def optional_text(name: str, value: Any) -> str:
    """A text that may be left out.

    Returns:
        It; empty when it is None.

    Raises:
        ConfigError: Something else than a text, or an empty one.
    """
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"outrider: {name}={shown(value)} is no text; give a str that is not empty, or None")
    return value


def until(name: str, seconds: Any) -> float | None:
    """The end of a wait on the clock of `time.monotonic`; None, no end, for None.

    Raises:
        ConfigError: Not a number of seconds, or out of range.
    """
    return None if seconds is None else monotonic() + real(name, seconds, 0.0, 1e9)


def real(name: str, value: Any, least: float, most: float) -> float:
    """Checks a finite real number in [least, most]; numpy's count, booleans are refused.

    Raises:
        ConfigError: Not a number, not finite, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(
            f"outrider: {name}={shown(value)} is a {type(value).__name__}, not a number; give one from {least:g} to {most:g}"
        )
    if not least <= value <= most:  # type: ignore[operator]  # NaN is in no range.
        raise ConfigError(f"outrider: {name}={shown(value)} is out of range; give a number from {least:g} to {most:g}")
    return float(value)


def choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Checks a word.

    Raises:
        ConfigError: Not one of the choices.
    """
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(f"outrider: {name}={shown(value)} is unknown; choose one of {', '.join(map(repr, choices))}")
    return value


def flag(name: str, value: Any) -> bool:
    """Checks a boolean.

    Raises:
        ConfigError: Something else.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"outrider: {name}={shown(value)} is a {type(value).__name__}; give True or False")
    return value


def function(name: str, value: Any) -> Callable[..., Any]:
    """Checks that something can be called.

    Raises:
        ConfigError: It cannot.
    """
    if not callable(value):
        raise ConfigError(
            f"outrider: {name}={shown(value)} is a {type(value).__name__}, which cannot be called; give a function"
        )
    return cast("Callable[..., Any]", value)


def instance(name: str, value: Any, kind: type | tuple[type, ...], give: str) -> Any:
    """Checks what something is.

    Args:
        name: Of the argument.
        value: What the user gave.
        kind: What it has to be.
        give: What to give instead, for the message.

    Raises:
        ConfigError: Something else.
    """
    if not isinstance(value, kind):
        raise ConfigError(f"outrider: {name}={shown(value)} is a {type(value).__name__}; give {give}")
    return value


def state_bytes(value: Any) -> bytes:
    """A run's state; empty for None.

    Raises:
        ConfigError: No bytes.
    """
    if value is None:
        return b""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise ConfigError(f"outrider: state={shown(value)} is a {type(value).__name__}; give the bytes of run.state(R)")
    return bytes(value)


def size(name: str, value: Any) -> int:
    """Bytes as an integer or as text with a unit ("4GiB", "500MB").

    Raises:
        ConfigError: Neither, or not positive.
    """
    if not isinstance(value, str):
        return count(name, value, 1)
    match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([A-Za-z]*)\s*", value, re.ASCII)
    if match is None or match[2].upper() not in _UNITS:
        raise ConfigError(
            f"outrider: {name}={shown(value)} is no size; give bytes as an integer or text such as '4GiB' or '500MB'"
        )
    return count(name, int(Fraction(match[1]) * _UNITS[match[2].upper()]), 1)
