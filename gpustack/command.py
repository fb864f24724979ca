"""Text that people copy into a shell or follow: commands, and prose beside them.

A host, a file or the API may have written any name in it. A `Hint` is therefore made from words and from text that
stands in the source of gpustack, never from one formatted string; whatever the words are, each stays one word of the
shell. A function that shows something to type takes a `Hint`, which a plain str is not.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, LiteralString, Self

NOTE_SEPARATOR = "    # "
"""The text between a command and the note behind it."""
Separator = Literal["; ", " | ", " && ", ", or ", "; then: "]
CAPITALS = re.compile(r"\b[A-Z]{3,}\b")
SHELL_WORD = re.compile(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;|&<>()])+""")


class Hint(str):
    """Hold text to copy or to follow. `body` is the text without the note behind it. Only this module creates one."""

    __slots__ = ("body", "note")
    body: str
    note: str

    def __new__(cls, body: str, note: str = "") -> Self:
        hint = super().__new__(cls, f"{body}{NOTE_SEPARATOR}{note}" if note else body)
        object.__setattr__(hint, "body", body)
        object.__setattr__(hint, "note", note)
        return hint

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a hint is frozen: {name}")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: Callable[[type[str]], Any]) -> Any:
        """Describe a hint as a string to documents for programs."""
        return handler(str)

    def __reduce__(self) -> tuple[object, ...]:
        """Reduce a copy to a plain Hint: its words do not matter any more."""
        return Hint, (self.body, self.note)


class Command(Hint):
    """Hold one command of a shell: its `words`, and a `note` that explains it and stands in the source."""

    __slots__ = ("words",)
    words: tuple[str, ...]

    def __new__(cls, *words: str, note: LiteralString = "") -> Self:
        command = super().__new__(cls, " ".join(map(quote_word, words)), note)
        object.__setattr__(command, "words", words)
        return command

    def extend(self, *words: str, note: LiteralString = "") -> "Command":
        """Return the same command with further words behind its own, and with this note alone."""
        return Command(*self.words, *words, note=note)


class Prose(Hint):
    """Hold a text of the source. Each `{}` in it takes the next value: a Hint as it is, and any other text as one
    quoted word."""

    __slots__ = ()

    def __new__(cls, text: LiteralString, *values: str, note: LiteralString = "") -> Self:
        words = [value.body if isinstance(value, Hint) else quote_word(value) for value in values]
        return super().__new__(cls, text.format(*words) if values else text, note)


class Template:
    """Hold a line of the shell in the catalogue of faults, in which words in capitals stand for names."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text: Final = text

    def fill(self, names: Mapping[str, str], *arguments: str) -> Hint:
        """Return the line with these names in place of their words, and with `arguments` behind it. Each word of the
        shell that takes a name is quoted as a whole; a word in capitals without one stays for a person to fill in."""

        def fill_word(match: re.Match[str]) -> str:
            if not names.keys() & set(CAPITALS.findall(match[0])):
                return match[0]
            (word,) = shlex.split(match[0])
            return quote_word(CAPITALS.sub(lambda capitals: names.get(capitals[0], capitals[0]), word))

        body, _, note = self.text.partition(NOTE_SEPARATOR)
        return Hint(" ".join([SHELL_WORD.sub(fill_word, body), *map(quote_word, arguments)]), note)


NO_HINT = Prose("")
HOST_COMMANDS = "access|care|doctor|install|kubeconfig|plan|prove|remediate|reset|serve|snapshot|status|trust|verify"
GROUP_COMMANDS = "alerts|autoscale|capacity|config|cost|node|profile|gpu(?: (?:group|policy|config|profiling|stats))?"
INVENTORY_COMMAND = re.compile(
    rf"(?<![\w`/-])gpustack (?!profile (?:compare|thresholds))"
    rf"(?:{HOST_COMMANDS}|(?:{GROUP_COMMANDS}) [a-z][a-z-]*)(?![\w-])"
)
"""A command of gpustack that takes an inventory."""
HOST_SOURCE = re.compile(
    r"(?<!\S)(?:-[ih]|--(?:inventory|from|prometheus|exporter|this-host|help)"
    r"|(?<!-out )(?<!-record )\S+\.json|https?://\S+)(?!\S)"
)
"""Words of a command that name the hosts, or what is read in place of them."""
END = re.compile(r"; | \| | && |, or ")


def add_inventory(line: str, inventory: str) -> str:
    """Return a line of the shell in which each command of gpustack that reads or changes hosts, and names none, names
    the inventory. An empty inventory is that of the environment."""

    def extend_command(match: re.Match[str]) -> str:
        end = END.search(command, match.end())
        words = command[match.end() : end.start() if end else len(command)]
        return match[0] if HOST_SOURCE.search(words) else f"{match[0]} -i {inventory}"

    command, comment, text = line.partition(" # ")
    return f"{INVENTORY_COMMAND.sub(extend_command, command) if inventory else command}{comment}{text}"


def name_inventory(hint: Hint, inventory: str) -> Hint:
    """Return the hint with the inventory, as `add_inventory` does, and with the same note."""
    body = add_inventory(hint.body, quote_word(inventory) if inventory else "")
    return hint if body == hint.body else Hint(body, hint.note)


def join_hints(*parts: Hint, separator: Separator = "; ", note: LiteralString = "") -> Hint:
    """Return the parts in one line, with their notes behind all of them."""
    notes = [part.note for part in parts if part.note] + [note] * bool(note)
    return Hint(separator.join(part.body for part in parts), "; ".join(dict.fromkeys(notes)))


def quote_word(word: str) -> str:
    """Return the text as one word of the shell and of one line: characters that are not printable are escaped."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(escape_character, word))}'"


def escape_character(character: str) -> str:
    if character.isprintable() and character not in "'\\":
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogatepass"))
