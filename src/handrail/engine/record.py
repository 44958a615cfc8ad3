"""A run as bytes and back: what a store keeps. `load(dump(run)) == run`."""

import msgspec

from handrail.engine.model import Run

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Run)


def dump(run: Run) -> bytes:
    """The run as JSON, the same bytes for equal runs."""
    return _encoder.encode(run)


def load(data: bytes | str) -> Run:
    """The run that was dumped. Raises `ValueError` for what is no run."""
    try:
        return _decoder.decode(data)
    except RecursionError as deep:
        raise ValueError("nested too deeply to be a run") from deep
