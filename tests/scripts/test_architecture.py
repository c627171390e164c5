"""The picture of the layers: what a contract says, a reader sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import architecture

SETTINGS = """
[[tool.importlinter.contracts]]
name = "One way down"
type = "layers"
containers = ["shop"]
layers = ["(admin) | api", "services", "models"]

[[tool.importlinter.contracts]]
name = "Models are plain"
type = "forbidden"
source_modules = ["shop.models"]
forbidden_modules = ["httpx", "redis"]

[[tool.importlinter.contracts]]
name = "Few know the queue"
type = "protected"
protected_modules = ["shop.queue"]
allowed_importers = ["shop.api"]

[[tool.importlinter.contracts]]
name = "Strangers"
type = "independence"
modules = ["shop.families.*"]
"""
PICTURE = """```text
┌─────────────┐
│ admin   api │
├─────────────┤
│ services    │
├─────────────┤
│ models      │
└─────────────┘
```
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "api").mkdir(parents=True)
    (folder / "api" / "__init__.py").write_text('"""The HTTP edge.\n\nMore of it."""\n')
    for name in ("admin", "services", "models"):
        (folder / f"{name}.py").write_text(f'"""What {name} | are for."""\n')
    return tmp_path


def test_layers_are_drawn_from_the_top() -> None:
    assert architecture.picture(["(admin) | api  ", "services", "models"]) == PICTURE


def test_each_box_is_as_wide_as_the_widest() -> None:
    lines = architecture.picture(["a", "bcd | e"]).splitlines()[1:-1]

    assert len({len(line) for line in lines}) == 1


def test_modules_say_themselves_what_they_are_for(shop: Path) -> None:
    assert architecture.purpose("shop.api", shop) == "The HTTP edge"
    assert architecture.purpose("shop.models", shop) == "What models \\| are for"


def test_a_module_that_does_not_say_it_is_named(shop: Path) -> None:
    (shop / "shop" / "models.py").write_text("")

    with pytest.raises(SystemExit, match=r"shop/models\.py"):
        architecture.layers_and_rules(SETTINGS, shop)


def test_every_contract_is_on_the_page(shop: Path) -> None:
    page = architecture.layers_and_rules(SETTINGS, shop)

    assert "## `shop`\n\nOne way down." in page
    assert "| `services` | What services \\| are for |" in page
    assert "| Models are plain | `shop.models` may not import `httpx`, `redis` |" in page
    assert "| Few know the queue | `shop.queue` may be imported by `shop.api` only |" in page
    assert "| Strangers | `shop.families.*` may not import each other |" in page
