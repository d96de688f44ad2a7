"""Limits over the whole request: images and cache marks.

Contents are never changed: an image stays whole or a line of text says that it was left out;
a mark is taken off, never the block under it. Knows nothing about calls or thinking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..images import pixel_size
from .anthropic_table import MessagesRules, is_long_mark
from .anthropic_turns import Part, Turn
from .base import Repair


class _Image:
    """An image and the place it stands in."""

    def __init__(self, part: Part, holder: list[dict[str, Any]] | None, index: int) -> None:
        self.part, self.holder, self.index = part, holder, index

    @property
    def value(self) -> dict[str, Any]:
        return self.part.value if self.holder is None else self.holder[self.index]

    @property
    def largest_px(self) -> int:
        source = self.value.get("source")
        data = source.get("data") if isinstance(source, dict) else None
        size = pixel_size(data) if isinstance(data, str) else None
        told = (self.part.meta.get("width"), self.part.meta.get("height"))
        return max(size or (side for side in told if isinstance(side, int)), default=0)

    @property
    def base64_chars(self) -> int:
        source = self.value.get("source")
        data = source.get("data") if isinstance(source, dict) else None
        return len(data) if isinstance(data, str) else 0

    def leave_out(self, why: str) -> None:
        note = {"type": "text", "text": f"[image left out: {why}]"}
        if self.holder is None:
            self.part.value = note
        else:
            self.holder[self.index] = note


def fit_images(turns: Sequence[Turn], rules: MessagesRules, repairs: list[Repair]) -> None:
    """Leave images out until the request is accepted, the oldest first.

    Many images in one request lower the size that each may have, so old images leave until the
    newest large ones fit again.
    """
    images = []
    for image in _images(turns):
        if image.largest_px > rules.image_px_max:
            _leave_out(image, "image_too_large", f"over {rules.image_px_max} px", repairs)
        elif image.base64_chars > rules.image_base64_chars_max:
            _leave_out(image, "image_too_heavy", "over the size limit", repairs)
        else:
            images.append(image)
    while len(images) > rules.images_max:
        _leave_out(images.pop(0), "too_many_images", f"over {rules.images_max} images", repairs)
    large = [image for image in images if image.largest_px > rules.many_image_px]
    while large and len(images) >= rules.many_images_from:
        oldest = images.pop(0)
        large = [image for image in large if image is not oldest]
        why = (
            f"from {rules.many_images_from} images on each may have {rules.many_image_px} px;"
            f" item {large[-1].part.item if large else oldest.part.item} has more"
        )
        _leave_out(oldest, "image_too_large_in_many_image_request", why, repairs)


def _images(turns: Sequence[Turn]) -> Iterator[_Image]:
    for turn in turns:
        for part in turn.parts:
            if part.kind == "image":
                yield _Image(part, None, 0)
            content = part.value.get("content")
            for index, inner in enumerate(content if isinstance(content, list) else ()):
                if isinstance(inner, dict) and inner.get("type") == "image":
                    yield _Image(part, content, index)


def _leave_out(image: _Image, code: str, why: str, repairs: list[Repair]) -> None:
    image.leave_out(why)
    detail = f"An image is left out: {why}. Evict old images or scale it down to keep it."
    repairs.append(Repair(code, image.part.item, detail))


def fit_cache_marks(body: dict[str, Any], rules: MessagesRules, repairs: list[Repair]) -> None:
    """Take off the cache marks over the limit: early messages first, then system and tools.

    The last mark of the messages always stays: the next call reads the cache from there.
    """
    marked = {part: list(_marked(body.get(part))) for part in ("tools", "system", "messages")}
    order = [*marked["messages"][:-1], *marked["tools"], *marked["system"]]
    over = sum(map(len, marked.values())) - rules.cache_marks_max
    for block in order[: max(over, 0)]:
        del block["cache_control"]
    if over > 0:
        detail = f"{over} cache marks over the limit of {rules.cache_marks_max} are taken off."
        repairs.append(Repair("cache_control_over_limit", "", detail))
    is_short_before = False
    for block in (
        one for part in ("tools", "system", "messages") for one in _marked(body.get(part))
    ):
        is_long = is_long_mark(block)
        if is_long and is_short_before:
            block["cache_control"] = {"type": "ephemeral"}
            detail = "A mark for an hour may not follow a shorter one; it is sent as a short one."
            repairs.append(Repair("cache_ttl_order", "", detail))
        is_short_before |= not is_long


def _marked(part: object) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for entry in part:
            yield from _marked(entry)
    elif isinstance(part, dict):
        yield from _marked(part.get("content"))
        if part.get("cache_control") is not None:
            yield part
