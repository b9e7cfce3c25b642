"""Layers as Python describes them: the name of a kind, text, or a list of blocks."""

import json
import re
from collections.abc import Mapping

from . import _harmonium
from ._settings import refused, whole

#: What a layer may be, in words.
WORDS = "the name of a kind, text such as 'bernoulli*10,gaussian*4', or a list of (kind, units) or (kind, units, options)"

#: Most units of a layer.
MOST_UNITS = 1 << 24


def layer_text(name, value):
    """Return the text of a layer that is given as text or as a list of blocks."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)) or not value:
        raise refused(name, value, WORDS)
    return ",".join(_block_text(name, block) for block in value)


def _block_text(name, block):
    """One block as text: potts(states=5)*3."""
    if not isinstance(block, (list, tuple)) or len(block) not in (2, 3) or not _is_word(block[0]):
        raise refused(name, block, f"a block in {WORDS}")
    kind, units, options = (*block, {})[:3]
    if not isinstance(options, Mapping) or not all(_is_word(key) and _is_word(str(value)) for key, value in options.items()):
        raise ValueError(f"{name}: the options of {kind} are {options!r}, but must be a dict such as {{'states': 5}}")
    inside = ",".join(f"{key}={value}" for key, value in options.items())
    units = whole(f"{name}: the number of {kind} units", units, 1, MOST_UNITS)
    return f"{kind}({inside})*{units}" if inside else f"{kind}*{units}"


def _is_word(value):
    """Whether a value is a plain word or number, which cannot be mistaken for the signs of a list."""
    return isinstance(value, str) and re.fullmatch(r"[\w.+-]+", value) is not None


def is_list(value):
    """Whether a layer is described by blocks and not by the name of a kind."""
    return not isinstance(value, str) or any(sign in value for sign in "*,(")


def blocks(name, value, options, columns):
    """Return the blocks of a layer as (kind, units, options); a layer of one kind has as many units as its columns hold."""
    if is_list(value):
        if options:
            raise ValueError(f"{name} is a list of blocks, so that the options of a kind belong to its block: (kind, units, options)")
        return _parsed(name, layer_text(name, value))
    return [(value, columns // int(options.get("states", 1)), options)]


def _parsed(name, listed):
    try:
        return _harmonium.blocks(listed)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def as_metadata(layers):
    """Return the metadata of a model file for layers of (kind, units, options): lists of blocks."""
    written = {
        layer: [{"kind": kind, "sites": units, "options": options} for kind, units, options in listed] for layer, listed in layers.items()
    }
    return {f"{layer}.blocks": json.dumps(listed) for layer, listed in written.items()}


def has_gaussian(listed):
    """Whether a layer has log-variances."""
    return any(kind == "gaussian" for kind, _, _ in listed)
