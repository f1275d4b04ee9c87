"""What pages follow: looked at once for all, told only when it differs, forgotten when nobody follows it."""

from __future__ import annotations

import pytest

from app.shared import changes
from app.shared.changes import Register


@pytest.fixture
def there() -> dict[str, int]:
    """What a look finds."""
    return {"a": 1, "b": 1}


@pytest.fixture
def look(there):
    """A look, which notes what it was called with."""
    looked = []

    def read(name: str) -> int:
        looked.append(name)
        return there[name]

    read.looked = looked
    return read


def test_pages_that_follow_the_same_share_the_looking(look, there):
    register = Register()
    first, second, other = (register.add(look, (name,)) for name in ("a", "a", "b"))
    assert first == second and first[0] != other[0]
    look.looked.clear()
    assert register.versions({first[0]}) == {first[0]: 0} and look.looked == ["a"]
    there["a"] = 2
    assert register.versions({first[0], other[0]}) == {first[0]: 1, other[0]: 0}
    assert register.add(look, ("a",)) == (first[0], 1), "a page that is drawn now shows the latest"
    there["a"] = 3
    assert register.add(look, ("a",)) == (first[0], 2), "a page that is drawn sees a change first"
    assert register.versions({first[0]}) == {first[0]: 2}


def test_what_cannot_be_read_has_a_version_too(look, there):
    register = Register()
    number, version = register.add(look, ("a",))
    value = there.pop("a")
    assert register.versions({number}) == {number: version + 1} == register.versions({number})
    there["a"] = value
    assert register.versions({number}) == {number: version + 2}


def test_what_nobody_follows_is_forgotten(look, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    register = Register()
    kept, left = register.add(look, ("a",))[0], register.add(look, ("b",))[0]
    now[0] += 0.9 * changes.KEPT
    assert set(register.versions({kept})) == {kept}
    now[0] += 0.9 * changes.KEPT
    assert set(register.versions({kept, left})) == {kept, left}, "its page asks again after a pause"
    now[0] += 1.1 * changes.KEPT
    assert register.versions(set()) == {}
    assert register.versions({kept}) == {}, "its page is drawn anew"
    assert register.add(look, ("a",))[0] not in (kept, left)
