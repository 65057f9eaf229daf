"""Python values as the TOML that scenarios are written in.

Every value of a dictionary gets a line of its own with the whole path of its key, so that an error, which shows the line,
shows the path too.
"""

import json
import math
import os
import re
from collections.abc import Mapping

from ._tidegate import Error

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_WORD = re.compile(r"[A-Za-z0-9._/%-]+")


def document(tree):
    """A dictionary as a TOML document."""
    lines = []
    _lines(tree, [], lines)
    return "\n".join(lines) + "\n"


def _lines(tree, path, lines):
    for name, item in tree.items():
        where = [*path, _key(name, path)]
        key = ".".join(where)
        if isinstance(item, Mapping) and item:
            _lines(item, where, lines)
        elif isinstance(item, (list, tuple)) and any(isinstance(one, Mapping) for one in item):
            lines.append(f"{key} = [")
            lines.extend(f"  {value(one, f'{key}.{n}')}, # {key}.{n}" for n, one in enumerate(item))
            lines.append("]")
        else:
            lines.append(f"{key} = {value(item, key)}")


def _key(name, path):
    if not isinstance(name, str):
        where = ".".join(path) or "the scenario"
        raise Error(f"{where}: the key {name!r} is no text")
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def value(item, path):
    """A value in TOML; errors name it `path`."""
    if hasattr(item, "tolist"):  # of NumPy
        item = item.tolist()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        if not math.isfinite(item):
            raise Error(f"{path} is {item}; allowed: a finite number")
        return repr(item)
    if isinstance(item, str):
        return _text(item)
    if isinstance(item, os.PathLike):
        return _text(os.fspath(item))
    if isinstance(item, Mapping):
        pairs = [f"{_key(name, [path])} = {value(one, f'{path}.{name}')}" for name, one in item.items()]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    if isinstance(item, (list, tuple, range)):
        return "[" + ", ".join(value(one, f"{path}.{n}") for n, one in enumerate(item)) + "]"
    if item is None:
        raise Error(f"{path} is None\nhint: leave the key out, or write \"none\" where that is a choice")
    raise Error(f"{path} is {item!r} of type {type(item).__name__}; allowed: numbers, texts, lists and dictionaries")


def _text(text):
    # JSON's strings are TOML's but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def override(key, item):
    """A change of one key as the command line writes it: `traffic.0.load=0.8`."""
    if not isinstance(key, str):
        raise Error(f"sets: the key {key!r} is no text\nhint: such as \"traffic.0.load\"")
    if isinstance(item, str) and _BARE_WORD.fullmatch(item):
        return f"{key}={item}"
    return f"{key}={value(item, key)}"
