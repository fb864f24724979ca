"""Secrets that are known by their names: `password: x`, `NGC_API_KEY=x`, `"auth_token": "x"`, `--token x`.

A name in a sentence is none: `join-token: vm1 did not answer`, `failed to fetch token: Get "https://…`. In a sentence
more words follow, and what follows looks like a word.
"""

import re
from functools import partial

from gpustack.ask.redact.secret_shapes import GONE, SENTENCE, Shape, is_argument, shape

KEYS = (
    r"(?:api|access|private|signing|client|routing|service|integration|certificate|encryption|shared|account|license|"
    r"subscription|auth|master|session|storage|consumer|application|app|admin|deploy|ingestion|activation|functions|"
    r"unseal|recovery|instrumentation)"
    r"[_-]?key|(?:secret|hmac)[_-]key(?:_base)?"
)
# `<secret>` in the documentation of Prometheus and Alertmanager: their configuration pages.
ADDRESSES = r"api_url|webhook[_-]?url"
PASSWORDS = (
    r"password|passwd|passphrase|passcode|(?<![A-Za-z])(?:pass|pwd|psk)|(?-i:(?<=[a-z])(?:Pass|Pwd))|"
    r"(?<=db|my)pass|(?<=user|root|auth|bind)pass|(?<=admin|login|store)pass|requirepass|masterauth"
)
# One of them begins each name: the rest of a text is passed over quickly.
INITIALS = "aAcCdDeEfFhHiIlLmMpPrRsStTuUwW"
# The name of a Secret is none.
NAMED = r"(?<!existing)(?<!existing[_-])(?<!pull)(?<!pull[_-])secret"
WORDS = rf"{PASSWORDS}|{NAMED}|token|credentials?|art-api|community|{KEYS}|{ADDRESSES}"
NAMES = rf"(?=(?-i:[{INITIALS}]))(?:{WORDS})(?:_?\d{{1,3}})?"
# In quotes, also in those of JSON within JSON (the last has as many backslashes as the first), also without the last;
# else up to the next space. Every repeat is possessive: a text of any length is read once, whatever stands in it.
NESTED = r"(?P<esc>\\++)\"(?:[^\"\\\n]++|(?!(?P=esc)\")\\++\"?)*+(?P=esc)\"|\\++\"[^\"\n]*+"
QUOTED = rf"\"(?:[^\"\\\n]|\\.)*+\"\w*+|'[^'\n]*+'\w*+|{NESTED}|[\"'][^\n]++"
BARE = r"(?:[^\s\"'\\]|\\\\?(?![nrt\"'\\])|(?<=\w)[\"'](?=\w))++"
# The words of a passphrase, or of a sentence: none of them is the next name.
MORE = r"(?:[ \t]++(?!#)(?![^\s\"'\\:=]*+[ \t]*+[:=])[^\s\"'\\:=]++)*+"
# A newline that JSON has escaped ends the value: what follows is the next line of a document.
PATTERN = re.compile(
    rf"(?P<name>{NAMES})(?P<close>\\*+[\"']?)(?P<sep>[ \t]*+(?::=|=>|[:=])[ \t]*+)(?!\\[nr])"
    rf"(?:\[[ \t]*+(?=\\*+[\"']))?"
    rf"(?P<s>{QUOTED}|{BARE})(?P<more>{MORE})",
    re.IGNORECASE,
)
PASSWORD = re.compile(PASSWORDS, re.IGNORECASE)
# From the start of the line, or of what stands in quotes or in braces.
KEY_PLACE = re.compile(r"[\s{,\[\\-]*+(?:export[ \t]++)?")
NO_SECRET = re.compile(
    rf"(?:true|false|null|none|nil|yes|no|~|\d{{1,3}}|\[+[\w.-]*:?|\{{+(?:[\w.-]*:)?|"
    rf"\{{\}}|\[\]|[|>][+-]?\d?|\*+|<[\w .-]+>|[^\w]{{0,3}}|{GONE}.*|"
    r"\$\{[\w:.-]*\}?|\$\([\w.-]+\)?|\$[A-Z_]+|\{\{.*|"
    r"(?:~|/(?:etc|var|run|root|home|dev|opt|tmp|usr|proc|sys|mnt|srv|path))(?:/[\w.@+-]*)*)[,;)}\]]*",
    re.IGNORECASE | re.DOTALL,
)
RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9+/=_~]{16,}")
# As the kubelet writes which Secret it means.
REFERENCE = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9.-]*")
LOOKS_BACK = 200
# What ids of ours begin with that end in a name: join-token, host-sudo-password.
IDS = ("join-", "host-sudo-")


# One of these is in each name. Most answers have none of them, and looking for words is a hundred times as quick.
PARTS = (
    "pass",
    "pwd",
    "psk",
    "masterauth",
    "community",
    "secret",
    "token",
    "credential",
    "art-api",
    "key",
    "api_url",
    "webhook",
)


def hide_named(text: str) -> str:
    """All secrets that have a name."""
    lower = text.lower()
    if not any(part in lower for part in PARTS):
        return text
    if BLOCK.search(text):
        for end, pattern in BLOCKS.items():
            text = pattern.sub(partial(hide_block, end=end), text)
    return PATTERN.sub(hide_value, VARIABLE.sub(hide_variable, text))


def hide_value(found: re.Match[str]) -> str:
    """What was found, with its secret gone. The name, quotes and punctuation stay, so that a document still parses."""
    value, more, before = found["s"], found["more"], found[0][: found.start("s") - found.start()]
    quote = find_quote(value)
    if quote:
        inner = value.removeprefix(quote).removesuffix(quote)
        return before + quote + GONE + quote + more if takes_quoted(found, inner) else found[0]
    taken = takes_bare(found)
    if not taken:
        return found[0]
    end = find_closing(value)
    quote = found["close"]
    return f"{before}{quote}{GONE}{quote}{end}{'' if taken == 'line' else more}"


def find_closing(value: str) -> str:
    """Return the punctuation and brackets that a value ends with."""
    return value[len(value.rstrip(",;)}]")) :]


def stands_as_key(line: str) -> bool:
    """`line` is what stands before a name: nothing, a quote, brackets or dashes, and the first part of the name."""
    end = len(line)
    while end and (line[end - 1].isalnum() or line[end - 1] in "_.-"):
        end -= 1
    return line[end - 1 : end] in ('"', "'") or KEY_PLACE.fullmatch(line, 0, end) is not None


def find_quote(value: str) -> str:
    found = re.match(r"\\*[\"']", value)
    return found[0] if found else ""


def takes_quoted(found: re.Match[str], inner: str) -> bool:
    if NO_SECRET.fullmatch(inner) or found.string.endswith("unexpected ", 0, found.start()):
        return False
    if is_reference(found) and REFERENCE.fullmatch(inner):
        return False
    return is_address(inner) if re.fullmatch(ADDRESSES, found["name"], re.IGNORECASE) else True


def takes_bare(found: re.Match[str]) -> str:
    """`word`, or `line` with the words behind it; empty when it is no secret."""
    value, name = found["s"], found["name"]
    if NO_SECRET.fullmatch(value) or value.startswith("=") or SENTENCE.fullmatch(value):
        return ""
    if re.fullmatch(ADDRESSES, name, re.IGNORECASE):
        return "word" if is_address(value) else ""
    before = found.string[max(found.start() - LOOKS_BACK, 0) : found.start()]
    line = re.split(r"\n|\\n", before)[-1]
    is_key = stands_as_key(line) and (len(line) < LOOKS_BACK or line != before)
    if line.endswith(IDS):
        return "word" if RANDOM.fullmatch(value) else ""
    if PASSWORD.match(name):
        whole = name.lower() in ("pass", "pwd") and not found.string[found.start() - 1 : found.start()].isalpha()
        if whole and (value.startswith("/") or value.isdigit()):
            return ""
        if is_key and not found["close"]:
            return "line"
        return "word" if "=" in found["sep"] or not found["more"] or not looks_like_a_word(value) else ""
    if "=" in found["sep"]:
        return "" if is_reference(found) and REFERENCE.fullmatch(value) else "word"
    if found["more"] or follows_quote(found):
        return "word" if RANDOM.fullmatch(value) else ""
    if is_key and found["sep"] != ":":
        return "word"
    return "word" if any(char.isdigit() for char in value) and len(value) >= 8 else ""


def follows_quote(found: re.Match[str]) -> bool:
    """Behind the value a sentence goes on with something in quotes."""
    return bool(re.match(r"[ \t]+\\*[\"']", found.string[found.end() : found.end() + 8]))


def looks_like_a_word(value: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z]?[a-z'-]*[.,;:]?", value))


def is_reference(found: re.Match[str]) -> bool:
    """The name is `secret` alone."""
    start = found.start()
    return found["name"].lower() == "secret" and not re.match(r"[\w-]", found.string[start - 1 : start])


def is_address(value: str) -> bool:
    """With a part that looks like no word: who has it may send."""
    parts = re.findall(r"(?<=/)[\w-]{8,}", value) if re.match(r"https?://", value) else []
    return any(re.search(r"\d", part) and re.search(r"[A-Za-z]", part) for part in parts)


# `name:` and `value:` of an environment, as in a pod.
VARIABLE = re.compile(
    rf"\bname(?P<q>\\*+[\"']?)[ \t]*+[:=][ \t]*+\\*+[\"']?[\w.-]{{0,60}}?{NAMES}(?:\\*+[\"'])?"
    rf"(?:,|\s|\\n){{1,40}}+\\*+[\"']?value\\*+[\"']?[ \t]*+[:=][ \t]*+(?P<s>{QUOTED}|{BARE})",
    re.IGNORECASE,
)
# A text over several lines in YAML: all that is indented deeper than its name, also in a document within JSON.
BLOCK = re.compile(r":[ \t]*+[|>][+-]?\d?[ \t]*+(?:\n|\\n)")


def block_pattern(start: str, end: str, char: str) -> re.Pattern[str]:
    """`end` is the end of a line, `char` one character in it."""
    return re.compile(
        rf"(?:{start}|{end})(?P<indent>[ \t]*+)(?:- )?"
        rf"(?:name:[ \t]*+[\"']?[\w.-]{{0,60}}?{NAMES}[\"']?{end}[ \t]*+value|[\w.-]{{0,60}}?{NAMES}[\"']?)"
        rf"[ \t]*+:[ \t]*+[|>][+-]?\d?[ \t]*+"
        rf"(?P<s>(?:{end}(?:(?P=indent)[ \t]++{char}*+|[ \t]*+(?={end})))++)",
        re.IGNORECASE | re.MULTILINE,
    )


# By the end of a line.
BLOCKS = {
    "\n": block_pattern("^", r"\n", r"[^\n]"),
    "\\n": block_pattern('^|"', r"\\n", r"(?:[^\\\n\"]|\\[^n])"),
}


def hide_variable(found: re.Match[str]) -> str:
    quote = find_quote(found["s"])
    inner = found["s"].removeprefix(quote).removesuffix(quote) if quote else found["s"]
    if NO_SECRET.fullmatch(inner):
        return found[0]
    before = found[0][: found.start("s") - found.start()]
    quote = quote or found["q"]
    end = find_closing(found["s"])
    return f"{before}{quote}{GONE}{quote}{end}"


def hide_block(found: re.Match[str], end: str) -> str:
    if found["s"].strip() == GONE:
        return found[0]
    return f"{found[0][: found.start('s') - found.start()]}{end}{found['indent']}  {GONE}"


FLAG: Shape = shape(
    "flag",
    rf"(?:(?<![\w-])|(?<=\\[nrt]))--[\w-]{{0,40}}?{NAMES}[ \t]++[\"']?(?P<s>{BARE})",
    "kubeadm join --certificate-key 0123456789abcdef",
    "kubeadm(1) and others: --name value",
    lambda found: is_argument(found) and not NO_SECRET.fullmatch(found["s"]),
)
