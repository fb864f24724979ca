"""Reading of scripts in files beside a module, where shellcheck and editors see them."""

from pathlib import Path


def read_script(module: str, name: str) -> str:
    """Read a script without its first line, which names the interpreter. `module` is the `__file__` of the caller."""
    return Path(module).with_name(name).read_text("utf-8").partition("\n")[2]
