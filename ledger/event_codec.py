"""How events are written and read: JSON, the same bytes for the same event on every machine.

Events of earlier program versions are upcast here. Knows nothing about storage.
"""

from __future__ import annotations

import msgspec

from .errors import BadInput, CorruptLedger
from .events import AnyEvent, Event

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


def type_of(event: Event) -> str:
    """The stored tag: `message_appended`."""
    return str(event.__struct_config__.tag)


def encode(event: AnyEvent) -> bytes:
    """Write an event as JSON, the same bytes for the same event on every machine."""
    return _encoder.encode(event)


def encode_checked(event: AnyEvent) -> bytes:
    """Write an event that is to be kept for ever, and read it back: a struct takes any value.

    Raises:
        BadInput: a value of it is of the wrong type or too large; it could never be read.
    """
    try:
        data = encode(event)
        _decoder.decode(data)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        raise BadInput(
            f"This cannot be recorded: {error}.", "Give a value of the type that is documented."
        ) from error
    return data


def decode(data: bytes) -> AnyEvent:
    """Read an event of this or any earlier program version.

    Old fields are upcast here; there is one version so far.

    Raises:
        CorruptLedger: the bytes are no event.
    """
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise CorruptLedger(
            f"A stored event cannot be read: {error}.", "Run `ctxledger verify`."
        ) from error
