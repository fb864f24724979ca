"""Which of the operator's files are not YAML, and where: ansible-inventory often does not name the file."""

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpustack.config.complaint import Complaint

if TYPE_CHECKING:
    from yaml import Loader, MappingNode

ENDINGS = (".yml", ".yaml", ".json")


def broken(source: Path) -> list[Complaint]:
    """Every YAML file of an inventory that cannot be parsed, or says a key twice in one mapping."""
    return [complaint for path in candidates(source) if (complaint := judged(path))]


def candidates(source: Path) -> Iterator[Path]:
    base = source if source.is_dir() else source.parent
    if source.is_dir():
        yield from sorted(path for path in source.iterdir() if path.is_file() and path.suffix in ENDINGS)
    elif source.suffix in ENDINGS:
        yield source
    for folder in ("group_vars", "host_vars"):
        found = (path for path in (base / folder).glob("**/*") if path.is_file())
        yield from sorted(path for path in found if path.suffix in (*ENDINGS, ""))


def judged(path: Path) -> Complaint | None:
    import yaml

    class Tolerant(yaml.SafeLoader):
        """Reads `!vault` and other tags of Ansible's as nothing in particular; refuses a duplicate key."""

        def construct_mapping(self, node: "MappingNode", deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
            keys: set[str] = set()
            for key, _ in node.value:
                if str(key.value) in keys and key.tag != "tag:yaml.org,2002:merge":
                    raise yaml.constructor.ConstructorError(None, None, f"`{key.value}` is given twice", key.start_mark)
                keys.add(str(key.value))
            return super().construct_mapping(node, deep=deep)

    def ignore_tag(loader: "Loader", suffix: str, node: Any) -> None:
        return None

    Tolerant.add_multi_constructor("!", ignore_tag)
    try:
        text = path.read_text()
        if not text.startswith("$ANSIBLE_VAULT"):
            yaml.load(text, Loader=Tolerant)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        return Complaint(where, "", f"no YAML ({error.problem})", "YAML", "config-not-yaml")
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return Complaint(str(path), "", f"no YAML ({error})", "YAML in UTF-8", "config-not-yaml")
    except OSError as error:
        return Complaint(str(path), "", error.strerror or str(error), "a file that can be read", "config-not-yaml")
    return None
