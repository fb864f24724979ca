"""Takes secrets out of texts, and terminal escapes. A recording keeps its shape: what is left still parses.

Rules err on the side of taking too much. Each keeps the name of what was there, so that a reader sees what is gone.
"""

import re
from collections.abc import Sequence

GONE = "REDACTED"

# Names of secrets before `:` or `=`, also inside longer names (ansible_become_password, NGC_API_KEY), also quoted once
# more (JSON in JSON). Values that cannot be secrets (true, null, numbers, a nested document) stay.
NAMES = r"(?:password|passwd|passphrase|_pass|secret|token|credential|(?:api|access|private|signing|client)[_-]?key)"
# A newline that JSON has escaped ends the value: what follows is the next line of a document
# (`authorization:\\n  mode`).
SAME_LINE = r"(?!\\[nr])"
BARE = r"[^\s\"'\\]+"
VALUE = rf"(?!(?:true|false|null|none|\d+(?=[\s,}}\]]|$)|{GONE})|[{{\[|>])(?:\"(?:[^\"\\]|\\.)+\"|'[^']+'|{BARE})"
PEM_KIND = r"((?:[A-Z0-9]+ )*(?:PRIVATE KEY|CERTIFICATE|CERTIFICATE REQUEST))"
PEM = rf"-----BEGIN {PEM_KIND}-----(?! {GONE}).*?(?:-----END \1-----|\Z)"

RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(PEM, re.DOTALL), rf"-----BEGIN \1----- {GONE} -----END \1-----"),
    # The same in base64, as in kubeconfigs and Secrets: "-----BEGIN" begins so.
    (re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]*"), GONE),
    (
        re.compile(rf"((?:certificate-authority|client-certificate|client-key)-data[\"']?[ \t]*:[ \t]*[\"']?){BARE}"),
        rf"\1{GONE}",
    ),
    (re.compile(r"eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,4096}"), GONE),
    (
        re.compile(
            rf"(authorization\\?[\"']?[ \t]*[:=][ \t]*{SAME_LINE}\\?[\"']?"
            rf"(?!\w{{1,20}}[ \t]+{GONE})(?:\w{{1,20}}[ \t]+)?)(?!{GONE}){BARE}",
            re.IGNORECASE,
        ),
        rf"\1{GONE}",
    ),
    (re.compile(rf"(\bbearer[ \t]+)(?!{GONE})[A-Za-z0-9._~+/=-]{{8,}}", re.IGNORECASE), rf"\1{GONE}"),
    # A bootstrap token (kubeadm: [a-z0-9]{6}\.[a-z0-9]{16}), also behind a newline that JSON has escaped.
    (re.compile(r"(?:(?<![A-Za-z0-9_-])|(?<=\\n)|(?<=\\t))[a-z0-9]{6}\.[a-z0-9]{16}(?![A-Za-z0-9_-])"), GONE),
    (re.compile(rf"({NAMES}\\?[\"']?[ \t]*[:=][ \t]*{SAME_LINE}\\?)({VALUE})", re.IGNORECASE), GONE),
    (re.compile(rf"(--[\w-]{{0,40}}?{NAMES}[ \t]+)(?!-|{GONE}){BARE}", re.IGNORECASE), rf"\1{GONE}"),
    (re.compile(r"(://)[^/\s:@\"']{0,256}:[^/\s@\"']{1,256}@"), rf"\1{GONE}@"),
    (re.compile(r"\b(?:nvapi-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16})\b"), GONE),
    # Password hashes of crypt(5).
    (re.compile(r"\$(?:1|2[aby]|5|6|7|y|gy)\$[./A-Za-z0-9$=,]{16,}"), GONE),
)

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC and other strings: titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]?"  # all others, and a string that never ends: what it says is shown
)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`secrets` are values known to be secret; they go first, wherever they stand."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        # A very short one is taken out as a word only: else every letter of it would go from every text.
        text = (
            text.replace(secret, GONE) if len(secret) > 3 else re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", GONE, text)
        )
    for pattern, instead in RULES:
        text = pattern.sub(named if instead == GONE and pattern.groups == 2 else instead, text)
    return text


def named(found: re.Match[str]) -> str:
    """`name: "value"` keeps its name and its quotes."""
    quote = found[2][0] if found[2][0] in "\"'" else ""
    return f"{found[1]}{quote}{GONE}{quote}"


def harmless(char: str) -> bool:
    """Printable, or a newline or tab. Not so: control characters, what turns the direction of writing or cannot be
    seen, lone surrogates, line separators that only some programs take for one."""
    return char.isprintable() or char in "\n\t"


def plain(text: str) -> str:
    """As it may be shown: escape sequences go, a return becomes a newline, an odd space a space, and each other
    character that is not harmless is shown as U+FFFD."""
    if text.isprintable():
        return text
    text = ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(char if harmless(char) else " " if char.isspace() and char > "\x7f" else "\ufffd" for char in text)
