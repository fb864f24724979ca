"""The pages of settings, rendered from the rows of docs/settings.md, by their keys such as source.mirror."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.resources import locate_docs
from gpustack.files.read import read_text
from gpustack.report.explain.width import wrap_text

FILE = "settings.md"
ROW = re.compile(r"(?m)^\| `([^`|]+)` \| (?:`([^|]*)`)? \| (.+) \|$")
PIPE = "&#124;"


@dataclass(frozen=True)
class Setting:
    """Hold a key of the spec, or a variable of a host. `default` is YAML, and empty where the key has none."""

    default: str
    meaning: str


@cache
def read_settings() -> Mapping[str, Setting]:
    """Read all settings by their keys. Raise FileNotFoundError where the installation lacks the document."""
    return {
        key: Setting(default.replace(PIPE, "|"), meaning.replace(PIPE, "|"))
        for key, default, meaning in ROW.findall(read_text(locate_docs() / FILE))
    }


def render_setting(key: str, setting: Setting) -> Iterator[str]:
    yield f"{key}: a setting of the inventory\n"
    yield wrap_text(setting.meaning)
    if setting.default:
        yield f"\nDefault   {setting.default}"
    yield "\nMore\n  gpustack explain docs/settings.md\n"
