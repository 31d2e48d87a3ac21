"""What every answer is made of: values with named attributes, and lists with names.

The classes of an answer (:mod:`lanescope.types`, :mod:`lanescope.hosts`) are generated from the program's own JSON
Schema; each attribute is looked up in the value that the library gave, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Node:
    """A value with named attributes."""

    __slots__ = ("_raw",)
    _raw: dict[str, Any]

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, as the command prints it with ``--json``; rates in bit/s, times in s."""
        return self._raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._raw == other._raw

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{k}={v!r}" for k, v in self._raw.items() if isinstance(v, (str, int, float)) and not v == ""]
        return f"{type(self).__name__}({', '.join(shown[:6])}{', …' if len(shown) > 6 else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._raw,)


class Named(Sequence[T], Generic[T]):
    """A list whose items have names: by place, or by name.

    A direction of a link is named with its end, ``"uplink toward host"``; its link's name alone will do where there is
    one direction only.
    """

    __slots__ = ("_items", "_keys")

    def __init__(self, items: Sequence[T], keys: Sequence[str]) -> None:
        self._items = list(items)
        self._keys = list(keys)

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[T]: ...
    def __getitem__(self, key: int | str | slice) -> T | Sequence[T]:
        if not isinstance(key, str):
            return self._items[key]
        found = [i for i, k in enumerate(self._keys) if k == key]
        found = found or [i for i, k in enumerate(self._keys) if k.split(" toward ")[0] == key]
        if len(found) == 1:
            return self._items[found[0]]
        what = f"{key!r} is several" if found else f"there is no {key!r}"
        raise KeyError(f"{what}; there are {', '.join(self._keys[:20])}")

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def keys(self) -> list[str]:
        """The names, in order."""
        return list(self._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"[{', '.join(self._keys)}]"

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()


def named(kind: type[T], raws: Sequence[dict[str, Any]]) -> Named[T]:
    """A list of values with names."""

    def key(raw: dict[str, Any]) -> str:
        name = str(raw.get("id") or raw.get("name") or "")
        return f"{name} toward {raw['to']}" if raw.get("to") and "from" in raw else name

    return Named([kind(r) for r in raws], [key(r) for r in raws])  # type: ignore[call-arg]
