"""Redaction of secrets that are known by their names: `password: x`, `NGC_API_KEY=x`, `"auth_token": "x"`, `--token x`.

A name in a sentence has no secret behind it: `join-token: vm1 did not answer`, `failed to fetch token: Get "https://…`.
In a sentence more words follow, and the text behind the name looks like a word.
"""

import re
from functools import partial

from gpustack.ask.redact.secret_shapes import REDACTION, SENTENCE, Shape, build_shape, is_argument

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
SECRETS = r"(?<!existing)(?<!existing[_-])(?<!pull)(?<!pull[_-])secret"
WORDS = rf"{PASSWORDS}|{SECRETS}|token|credentials?|art-api|community|{KEYS}|{ADDRESSES}"
NAMES = rf"(?=(?-i:[{INITIALS}]))(?:{WORDS})(?:_?\d{{1,3}})?"
# In quotes, also in those of JSON within JSON (the last has as many backslashes as the first), also without the last;
# else up to the next space. Every repeat is possessive: a text of any length is read once, whatever stands in it.
NESTED_QUOTES = r"(?P<esc>\\++)\"(?:[^\"\\\n]++|(?!(?P=esc)\")\\++\"?)*+(?P=esc)\"|\\++\"[^\"\n]*+"
QUOTED_VALUE = rf"\"(?:[^\"\\\n]|\\.)*+\"\w*+|'[^'\n]*+'\w*+|{NESTED_QUOTES}|[\"'][^\n]++"
BARE_VALUE = r"(?:[^\s\"'\\]|\\\\?(?![nrt\"'\\])|(?<=\w)[\"'](?=\w))++"
# The words of a passphrase, or of a sentence: none of them is the next name.
NEXT_WORDS = r"(?:[ \t]++(?!#)(?![^\s\"'\\:=]*+[ \t]*+[:=])[^\s\"'\\:=]++)*+"
# A newline that JSON has escaped ends the value: what follows is the next line of a document.
PATTERN = re.compile(
    rf"(?P<name>{NAMES})(?P<close>\\*+[\"']?)(?P<sep>[ \t]*+(?::=|=>|[:=])[ \t]*+)(?!\\[nr])"
    rf"(?:\[[ \t]*+(?=\\*+[\"']))?"
    rf"(?P<s>{QUOTED_VALUE}|{BARE_VALUE})(?P<more>{NEXT_WORDS})",
    re.IGNORECASE,
)
PASSWORD = re.compile(PASSWORDS, re.IGNORECASE)
# From the start of the line, or of what stands in quotes or in braces.
KEY_PLACE = re.compile(r"[\s{,\[\\-]*+(?:export[ \t]++)?")
NO_SECRET = re.compile(
    rf"(?:true|false|null|none|nil|yes|no|~|\d{{1,3}}|\[+[\w.-]*:?|\{{+(?:[\w.-]*:)?|"
    rf"\{{\}}|\[\]|[|>][+-]?\d?|\*+|<[\w .-]+>|[^\w]{{0,3}}|{REDACTION}.*|"
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
    """Redact all secrets that have a name."""
    lowercase_text = text.lower()
    if not any(part in lowercase_text for part in PARTS):
        return text
    if BLOCK.search(text):
        for end, pattern in BLOCKS.items():
            text = pattern.sub(partial(hide_block, end=end), text)
    return PATTERN.sub(hide_value, VARIABLE.sub(hide_variable, text))


def hide_value(match: re.Match[str]) -> str:
    """Return the match with its secret redacted. The name, quotes and punctuation stay, so that a document still
    parses."""
    candidate, next_words, prefix = match["s"], match["more"], match[0][: match.start("s") - match.start()]
    quote = find_quote(candidate)
    if quote:
        inner = candidate.removeprefix(quote).removesuffix(quote)
        return prefix + quote + REDACTION + quote + next_words if is_quoted_secret(match, inner) else match[0]
    extent = classify_value(match)
    if not extent:
        return match[0]
    end = find_closing(candidate)
    quote = match["close"]
    return f"{prefix}{quote}{REDACTION}{quote}{end}{'' if extent == 'line' else next_words}"


def find_closing(candidate: str) -> str:
    """Return the punctuation and brackets that a value ends with."""
    return candidate[len(candidate.rstrip(",;)}]")) :]


def is_key_prefix(line: str) -> bool:
    """Tell whether a name is the key of a setting. `line` is the text before the name: nothing, a quote, brackets or
    dashes, and the first part of the name."""
    end = len(line)
    while end and (line[end - 1].isalnum() or line[end - 1] in "_.-"):
        end -= 1
    return line[end - 1 : end] in ('"', "'") or KEY_PLACE.fullmatch(line, 0, end) is not None


def find_quote(candidate: str) -> str:
    match = re.match(r"\\*[\"']", candidate)
    return match[0] if match else ""


def is_quoted_secret(match: re.Match[str], inner: str) -> bool:
    if NO_SECRET.fullmatch(inner) or match.string.endswith("unexpected ", 0, match.start()):
        return False
    if is_reference(match) and REFERENCE.fullmatch(inner):
        return False
    return is_address(inner) if re.fullmatch(ADDRESSES, match["name"], re.IGNORECASE) else True


def classify_value(match: re.Match[str]) -> str:
    """Return the extent of the secret: `word`, or `line` with the words behind it; empty where the value is no
    secret."""
    candidate, name = match["s"], match["name"]
    if NO_SECRET.fullmatch(candidate) or candidate.startswith("=") or SENTENCE.fullmatch(candidate):
        return ""
    if re.fullmatch(ADDRESSES, name, re.IGNORECASE):
        return "word" if is_address(candidate) else ""
    before = match.string[max(match.start() - LOOKS_BACK, 0) : match.start()]
    line = re.split(r"\n|\\n", before)[-1]
    is_key = is_key_prefix(line) and (len(line) < LOOKS_BACK or line != before)
    if line.endswith(IDS):
        return "word" if RANDOM.fullmatch(candidate) else ""
    if PASSWORD.match(name):
        is_whole_name = (
            name.lower() in ("pass", "pwd") and not match.string[match.start() - 1 : match.start()].isalpha()
        )
        if is_whole_name and (candidate.startswith("/") or candidate.isdigit()):
            return ""
        if is_key and not match["close"]:
            return "line"
        return "word" if "=" in match["sep"] or not match["more"] or not is_word(candidate) else ""
    if "=" in match["sep"]:
        return "" if is_reference(match) and REFERENCE.fullmatch(candidate) else "word"
    if match["more"] or follows_quote(match):
        return "word" if RANDOM.fullmatch(candidate) else ""
    if is_key and match["sep"] != ":":
        return "word"
    return "word" if any(char.isdigit() for char in candidate) and len(candidate) >= 8 else ""


def follows_quote(match: re.Match[str]) -> bool:
    """Tell whether the value is followed by a text in quotes, as in a sentence."""
    return bool(re.match(r"[ \t]+\\*[\"']", match.string[match.end() : match.end() + 8]))


def is_word(candidate: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z]?[a-z'-]*[.,;:]?", candidate))


def is_reference(match: re.Match[str]) -> bool:
    """Tell whether the name is `secret` alone."""
    start = match.start()
    return match["name"].lower() == "secret" and not re.match(r"[\w-]", match.string[start - 1 : start])


def is_address(candidate: str) -> bool:
    """Tell whether a value is an address with a random part, which allows whoever has it to send."""
    parts = re.findall(r"(?<=/)[\w-]{8,}", candidate) if re.match(r"https?://", candidate) else []
    return any(re.search(r"\d", part) and re.search(r"[A-Za-z]", part) for part in parts)


# `name:` and `value:` of an environment, as in a pod.
VARIABLE = re.compile(
    rf"\bname(?P<q>\\*+[\"']?)[ \t]*+[:=][ \t]*+\\*+[\"']?[\w.-]{{0,60}}?{NAMES}(?:\\*+[\"'])?"
    rf"(?:,|\s|\\n){{1,40}}+\\*+[\"']?value\\*+[\"']?[ \t]*+[:=][ \t]*+(?P<s>{QUOTED_VALUE}|{BARE_VALUE})",
    re.IGNORECASE,
)
# A text over several lines in YAML: all that is indented deeper than its name, also in a document within JSON.
BLOCK = re.compile(r":[ \t]*+[|>][+-]?\d?[ \t]*+(?:\n|\\n)")


def build_block_pattern(start: str, end: str, char: str) -> re.Pattern[str]:
    """Build the pattern of a YAML block. `end` is the end of a line, `char` one character of a line."""
    return re.compile(
        rf"(?:{start}|{end})(?P<indent>[ \t]*+)(?:- )?"
        rf"(?:name:[ \t]*+[\"']?[\w.-]{{0,60}}?{NAMES}[\"']?{end}[ \t]*+value|[\w.-]{{0,60}}?{NAMES}[\"']?)"
        rf"[ \t]*+:[ \t]*+[|>][+-]?\d?[ \t]*+"
        rf"(?P<s>(?:{end}(?:(?P=indent)[ \t]++{char}*+|[ \t]*+(?={end})))++)",
        re.IGNORECASE | re.MULTILINE,
    )


# By the end of a line.
BLOCKS = {
    "\n": build_block_pattern("^", r"\n", r"[^\n]"),
    "\\n": build_block_pattern('^|"', r"\\n", r"(?:[^\\\n\"]|\\[^n])"),
}


def hide_variable(match: re.Match[str]) -> str:
    quote = find_quote(match["s"])
    inner = match["s"].removeprefix(quote).removesuffix(quote) if quote else match["s"]
    if NO_SECRET.fullmatch(inner):
        return match[0]
    before = match[0][: match.start("s") - match.start()]
    quote = quote or match["q"]
    end = find_closing(match["s"])
    return f"{before}{quote}{REDACTION}{quote}{end}"


def hide_block(match: re.Match[str], end: str) -> str:
    if match["s"].strip() == REDACTION:
        return match[0]
    return f"{match[0][: match.start('s') - match.start()]}{end}{match['indent']}  {REDACTION}"


FLAG: Shape = build_shape(
    "flag",
    rf"(?:(?<![\w-])|(?<=\\[nrt]))--[\w-]{{0,40}}?{NAMES}[ \t]++[\"']?(?P<s>{BARE_VALUE})",
    "kubeadm join --certificate-key 0123456789abcdef",
    "kubeadm(1) and others: --name value",
    lambda flag_match: is_argument(flag_match) and not NO_SECRET.fullmatch(flag_match["s"]),
)
