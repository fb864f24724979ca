"""Secrets in clear among Helm values.

They would stand in the plan, in Helm's own record of the release, in any store of the inventory, and in each snapshot;
charts take the name of a Secret instead.

The end of a key tells whether it names a secret, as charts and the programs below them name theirs: Grafana's
`adminPassword` and `client_secret`, Alertmanager's `routing_key` and `smtp_auth_password`, Prometheus' `credentials`
(`<secret>` in their documentation).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpustack.config.complaint import Complaint
from gpustack.files.document import DocumentError, LimitError
from gpustack.files.yaml_text import Rules, parse_yaml

REFERENCE = "values-secret"
REFERENCE_RULE = "the name of a Secret or a file (existingSecret, secretKeyRef, secretName, *_file)"
# Of a key in small letters, without - and _.
SECRET = re.compile(
    r".*(?:password|passwd|passphrase|token|credentials?|authorization|cookie|"
    r"(?:api|access|secret|private|signing|client|routing|service|integration|encryption|account)key)|"
    r"(?:.*(?:client|api|auth|shared|web|app|consumer|webhook))?secret"
)
# Of a key as it is: `bypass` names none.
SHORT = re.compile(r"(?:^|[a-z0-9_.-])(?:Pass|Pwd|PASS|PWD)$|(?:^|[_.-])(?:pass|pwd|bindpw|psk)$")
ADDRESS = re.compile(r".*(?:apiurl|webhookurl)")
# All below is one: Grafana's data sources, its chart's variables, a Secret itself.
HOLDERS = {"securejsondata", "envrendersecret", "stringdata", "basicauthusers"}
POINTER = re.compile(
    r"\s*|true|false|\{\{.*|"
    r"(?:\w+ )?\$(?:\{\w+\}|[A-Z_]+)|\$__\w+\{.*|(?:~|/(?:etc|var|run|mnt|opt|tmp|home))/.*|<[\w .-]+>|"
    r"(?:Bearer|Basic|REDACTED)\s*",
    re.DOTALL,
)
# Whatever the key is called: a login in an address, an address or an argument that lets in, a private key (also in
# base64, where certificates and public keys begin otherwise), and what vendors' tokens begin with.
CLEAR = re.compile(
    r"://[^/\s:@]*:(?!\d{1,5}/)[^\s@\"']+@[\w.\[-]|hooks\.slack\.com/services/\w|"
    r"[?&](?:[a-z_]{0,16}token|api_?key|sig|password)=[\w.~+/-]{6}|://\S*/hooks?/[\w-]{16}|"
    r"(?:^|\s)--?[\w.-]{0,40}(?:password|passwd|token|secret|api-key)=[^\s$<{/\"']|"
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY|LS0tLS1CRUdJTi(?!BDRVJU|BQVUJMSUM|BFQyBQQVJBTU)\w|"
    r"(?<![\w-])(?:nvapi-|gh[pousr]_|github_pat_|gl(?:pat|dt|rt)-|hf_|xox[abeoprs]-|glsa_|dckr_pat_)\w{10}"
)
# A line of INI or TOML, as of Grafana's LDAP.
LINE = re.compile(r"^[ \t]*([\w.-]+)[ \t]*=[ \t]*[\"']?([^\s\"'#;$<{(][^\s\"']*)", re.MULTILINE)

PLACEHOLDER = "REDACTED"
EMBEDDED_RULES = Rules(aliases=True, tags=True, dates=False)
MAX_DEPTH = 3
"""Documents around a document that is still read."""


def find_secrets(file: str, values: Mapping[str, Any]) -> list[Complaint]:
    """Return one complaint for each secret. No complaint holds the secret."""
    return [
        Complaint(file, ".".join(path), "a secret in clear", REFERENCE_RULE, REFERENCE)
        for path in find_secret_paths(values)
    ]


def find_secret_paths(
    document: Any, path: tuple[str, ...] = (), *, inside: bool = False, depth: int = 0
) -> Iterator[tuple[str, ...]]:
    """Yield the paths of secrets. `inside` says that the key above names one. A mapping below such a key says where the
    secret is (`name` and `key` of a Secret), or is settings with names of their own. `depth` counts the documents
    around this one."""
    if isinstance(document, Mapping):
        if is_secret_name(str(document.get("name", ""))) and is_clear(document.get("value")):
            yield (*path, "value")
        if document.get("kind") == "Secret" and isinstance(document.get("data"), Mapping):
            yield from ((*path, "data", str(key)) for key, inner in document["data"].items() if is_clear(inner))
        for key, inner in document.items():
            word = normalize_key(str(key))
            has_holder = bool(HOLDERS & {word, *map(normalize_key, path)}) or (inside and word == "value")
            is_secret_key = (
                has_holder or is_secret_name(word) or (ADDRESS.fullmatch(word) is not None and has_token(inner))
            )
            yield from find_secret_paths(inner, (*path, str(key)), inside=is_secret_key, depth=depth)
    elif isinstance(document, list):
        for index, inner in enumerate(document):
            yield from find_secret_paths(inner, (*path, str(index)), inside=inside, depth=depth)
    elif (inside and is_clear(document)) or (isinstance(document, str) and holds_secret(document, depth)):
        yield path


def holds_secret(text: str, depth: int = 0) -> bool:
    """Tell whether a text is a secret that is known by its looks, or a document of several lines that has a secret or
    may have one, because it is too large or too deep to be read."""
    if CLEAR.search(text):
        return True
    if "\n" not in text:
        return False
    if any(is_secret_name(name) and is_clear(value) for name, value in LINE.findall(text)):
        return True
    try:
        return depth > MAX_DEPTH or any(True for _ in find_secret_paths(parse_document(text), depth=depth + 1))
    except LimitError:
        return True


def redact_secrets(values: Any) -> Any:
    """Return the same values with PLACEHOLDER in place of each secret."""
    secret_paths = set(find_secret_paths(values))
    return redact_paths(values, secret_paths) if secret_paths else values


def redact_paths(document: Any, secret_paths: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    if path in secret_paths:
        return PLACEHOLDER
    if isinstance(document, Mapping):
        return {key: redact_paths(inner, secret_paths, (*path, str(key))) for key, inner in document.items()}
    if isinstance(document, list):
        return [redact_paths(inner, secret_paths, (*path, str(index))) for index, inner in enumerate(document)]
    return document


def normalize_key(key: str) -> str:
    return re.sub(r"[_-]", "", key).lower()


def is_secret_name(key: str) -> bool:
    return SECRET.fullmatch(normalize_key(key)) is not None or SHORT.search(key) is not None


def is_clear(value: Any) -> bool:
    """Tell whether a setting whose key names a secret has it in clear: a number, or a text that is no pointer."""
    if isinstance(value, bool) or value is None:
        return False
    return isinstance(value, int) or (isinstance(value, str) and POINTER.fullmatch(value) is None)


def has_token(value: Any) -> bool:
    """Tell whether an address has a part that looks like no word. Whoever has such an address may send."""
    parts = re.findall(r"(?<=/)[\w-]{8,}", value) if isinstance(value, str) else []
    return any(re.search(r"\d", part) and re.search(r"[A-Za-z]", part) for part in parts)


def parse_document(text: str) -> Any:
    """Parse a text of several lines as YAML, such as a configuration for another program. Return None for another text.

    Raise LimitError for one that is YAML as far as it was read.
    """
    try:
        return parse_yaml(text, EMBEDDED_RULES)
    except LimitError:
        raise
    except DocumentError:
        return None
