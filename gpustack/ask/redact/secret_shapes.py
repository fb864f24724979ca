"""Rules for secrets that are known by their form, or by the text before them.

Each rule has an example of a secret (invented) and a source that describes the form. The group `s` of the pattern is
redacted.
"""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable
from dataclasses import dataclass

REDACTION = "REDACTED"

B64 = "[A-Za-z0-9+/]"
WORD = r"[^\s\"'\\]"
PEM_KIND = r"(?P<kind>(?:[A-Z0-9]+ )*(?:PRIVATE KEY(?: BLOCK)?|CERTIFICATE|CERTIFICATE REQUEST))"
SCHEMES = ("basic", "bearer", "token", "negotiate", "ntlm", "apikey", "geniekey", "ssws", "aws4-hmac-sha256")
# What follows a name, a flag or a scheme in a sentence, and is no value; the last ones in /etc/nsswitch.conf.
SENTENCE = re.compile(
    r"(?:a|an|and|any|are|argument|as|at|authentication|authorization|be|by|bytes|can|cannot|could|did|does|denied|"
    r"empty|eof|error|expired|failed|flags?|for|forbidden|found|from|given|has|have|if|in|incorrect|instead|invalid|is|it|"
    r"length|may|mismatch|missing|must|needs?|no|not|object|of|on|only|option|or|refused|rejected|required|requires?|"
    r"realm|set|should|str|string|that|the|this|timeout|to|too|unauthorized|unknown|unset|use|used|value|was|were|will|with|"
    r"wrong|"
    r"files|compat|sss|ldap)[.,;:)]?",
    re.IGNORECASE,
)


def accept_any(_: re.Match[str]) -> bool:
    return True


def has_digit(match: re.Match[str]) -> bool:
    """Tell whether the secret has a digit. A word of a language has none."""
    return any(char.isdigit() for char in match["s"])


def is_token(match: re.Match[str]) -> bool:
    """Tell whether the match is a token and not a host with its domain: letters, and a number behind them, in both
    parts.

    One in 500 random tokens has that form as well; where a name, a flag or a secret stands before it, it is redacted by
    another rule.
    """
    return not re.fullmatch(r"[a-z]+\d*\.[a-z]+\d{0,2}", match["s"])


def has_dots(match: re.Match[str]) -> bool:
    """Tell whether the match has all parts of a token. The pattern also matches the first part alone, so that it is
    read once."""
    return "." in match["s"]


def is_token_of_address(match: re.Match[str]) -> bool:
    """Tell whether the match is a token and not the name of a user, which has letters of one case and, but for HTTP,
    may have digits."""
    candidate = match["s"]
    is_mixed_case = candidate.lower() != candidate and candidate.upper() != candidate
    return (has_digit(match) or is_mixed_case) if match["other"] is None else has_digit(match) and len(candidate) >= 16


def is_login(match: re.Match[str]) -> bool:
    """Tell whether the match is base64 of `user:password`."""
    word = match["s"].rstrip("=")
    try:
        text = b64decode(word + "=" * (-len(word) % 4), validate=True).decode()
    except (Error, ValueError):
        return False
    return ":" in text and text.isprintable()


def is_credential(match: re.Match[str]) -> bool:
    """Tell whether the match is a credential.

    Behind a known scheme each word is one; otherwise a text that ends the line or the quotes and looks like no word.
    """
    if SENTENCE.fullmatch(match["s"]) or match["s"].startswith("realm="):
        return False
    if (match["scheme"] or "").lower() in SCHEMES:
        return True
    after = match.string[match.end() : match.end() + 1]
    return len(match["s"]) >= 8 and has_digit(match) and after in ("", "\n", "\r", '"', "'", "\\")


def is_hook(match: re.Match[str]) -> bool:
    """Tell whether the match is in an address, and not in that of a Service, where admission webhooks are."""
    address = re.split(r"[\s\"']", match.string[max(match.start() - 300, 0) : match.start()])[-1]
    part = re.search(r"[A-Za-z0-9_-]{16,}", match["s"])
    return part is not None and bool(re.search(r"\d", part[0])) and "://" in address and ".svc" not in address


def is_argument(match: re.Match[str]) -> bool:
    return not match["s"].startswith("-") and not SENTENCE.fullmatch(match["s"])


@dataclass(frozen=True)
class Shape:
    """Describe a rule. `condition` decides on each match of the pattern; `replacement` is written in place of the group
    `s`."""

    name: str
    pattern: re.Pattern[str]
    example: str
    source: str
    condition: Callable[[re.Match[str]], bool] = accept_any
    replacement: str = REDACTION


def build_shape(
    name: str,
    pattern: str,
    example: str,
    source: str,
    condition: Callable[[re.Match[str]], bool] = accept_any,
    flags: re.RegexFlag = re.IGNORECASE,
    replacement: str = REDACTION,
) -> Shape:
    return Shape(name, re.compile(pattern, flags), example, source, condition, replacement)


EXACT = re.RegexFlag(0)
# Beginnings of tokens, as their makers describe them, so that scanners of repositories find them.
TOKEN_PATTERNS = (
    r"nvapi-[\w-]{20,}", r"gh[pousr]_[A-Za-z0-9]{30,}", r"github_pat_\w{20,}",
    r"gl(?:pat|dt|rt|agent|soat|ptt|ft)-[\w-]{16,}",
    r"hf_[A-Za-z0-9]{30,}", r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}", r"xox[abeoprs]-[\w-]{10,}", r"xapp-[\w-]{10,}",
    r"dckr_[po]at_[\w-]{16,}", r"sk-(?:[a-z]{2,6}-)?[A-Za-z0-9_]{20,}", r"sk-ant-[\w-]{16,}",
    r"[sr]k_(?:live|test)_\w{16,}",
    r"npm_[A-Za-z0-9]{30,}", r"pypi-[\w-]{30,}", r"AIza[\w-]{30,}", r"ya29\.[\w-]{10,}", r"1//0[\w-]{20,}",
    r"GOCSPX-[\w-]{16,}", r"hv[sbr]\.[\w-]{20,}", r"gl(?:sa|c)_[\w=]{20,}", r"SG\.[\w-]{16,}\.[\w-]{16,}",
    r"AGE-SECRET-KEY-\w{20,}", r"tskey-[a-z]{3,12}-[\w-]{10,}", r"do[opr]_v1_[a-f0-9]{32,}", r"dapi[a-f0-9]{32}",
    r"AT(?:ATT|CTT|BB)[A-Za-z0-9][\w=-]{16,}", r"AKC[a-zA-Z0-9]{20,}", r"cmVmd[A-Za-z0-9]{30,}", r"NRAK-[A-Z0-9]{20,}",
    r"PMAK-[\w-]{20,}",
    r"(?:gsk|r8|lin_api|lin_oauth|shpat|shpss|figd|ops|pul|sbp|rubygems|ntn|xkeysib|pat)[_-][A-Za-z0-9_-]{24,}",
    r"[a-z][a-z0-9]{1,11}_(?=[A-Za-z]{0,40}\d)(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])[A-Za-z0-9]{32,}",
)  # fmt: skip
SHAPES = (
    build_shape(
        "key or certificate",
        rf"-----BEGIN {PEM_KIND}-----(?P<s>(?! {REDACTION}).*?)(?:-----END (?P=kind)-----|\Z)",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBGc\n-----END PGP PRIVATE KEY BLOCK-----",
        "RFC 7468; RFC 4880 6.2",
        flags=re.DOTALL,
        replacement=f" {REDACTION} ",
    ),
    build_shape(
        "the same in base64", r"(?P<s>LS0tLS1CRUdJTi[A-Za-z0-9+/=]*)", "LS0tLS1CRUdJTiBQUk", "RFC 7468", flags=EXACT
    ),
    build_shape(
        "key in DER, in base64",
        rf"(?<!{B64})(?P<s>(?:MII{B64}{{3}}IBA(?:AKC|DANBgkqhkiG9w0B)|MHcCAQEEI|MIGHAgEAMBMG|MIG2AgEAMBAG|MC4CAQAwBQYDK2V)"
        rf"(?:{B64}|\\n|\n){{16,}}={{0,2}})",
        "MIIEpAIBAAKCAQEAxo8vQ1hb0kXy",
        "RFC 8017 A.1.2, RFC 5958, RFC 5915: SEQUENCE, INTEGER 0 or 1",
        flags=EXACT,
    ),
    build_shape(
        "data of a kubeconfig",
        rf"(?:certificate-authority|client-certificate|client-key)-data[\"']?[ \t]*:[ \t]*[\"']?(?P<s>{WORD}+)",
        "client-key-data: bm90LWEta2V5",
        "kubernetes.io/docs/reference/config-api/kubeconfig.v1",
    ),
    build_shape(
        "JSON web token",
        r"(?P<s>eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+)?)",
        "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.c2ln",
        "RFC 7519",
        has_dots,
        flags=EXACT,
    ),
    build_shape(
        "Authorization",
        r"authorization\\*+[\"']?[ \t]*+[:=][ \t]*+(?!\\[nr])[\[\\]*+[\"']?"
        r"(?:(?P<scheme>[A-Za-z][\w-]{1,20})[ \t]++)?(?P<s>[^\s\"'\\,]++)",
        "Authorization: Bearer n0t-a-token",
        "RFC 9110 11.6.2",
        is_credential,
    ),
    build_shape(
        "bearer", r"\bbearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{8,})", "bearer n0tatoken", "RFC 6750 2.1", has_digit
    ),
    build_shape("basic", r"\bbasic[ \t]+(?P<s>[A-Za-z0-9+/]{8,}={0,2})", "Basic dXNlcjpwYXNz", "RFC 7617", is_login),
    build_shape(
        "auth of a registry",
        r"(?<![A-Za-z0-9])auth\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?(?P<s>[A-Za-z0-9+/]{4,}={0,2})",
        '"auth": "dXNlcjpwYXNz"',
        "docs.docker.com/reference/cli/docker/login: base64 of user:password",
        is_login,
    ),
    build_shape(
        "cookie",
        r"\bcookie2?\\*+[\"']?[ \t]*+[:=][ \t]*+[\[\\]*+[\"']?(?P<s>[^\s\"'=;,\\]{1,256}+=[^\"'\n\r\\]++)",
        "Cookie: sid=n0tasession",
        "RFC 6265 4.2",
    ),
    # Also behind a newline or tab that JSON has escaped.
    build_shape(
        "bootstrap token",
        r"(?:(?<![A-Za-z0-9_-])|(?<=\\n)|(?<=\\t))(?P<s>[a-z0-9]{6}\.[a-z0-9]{16})(?![A-Za-z0-9_-])",
        "abcdef.0123456789abcdef",
        r"kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens: [a-z0-9]{6}\.[a-z0-9]{16}",
        is_token,
        flags=EXACT,
    ),
    build_shape(
        "netrc",
        r"\b(?:machine|login)[ \t]++\S{1,300}?(?:[ \t]|\n|\\n){1,40}+password[ \t]++(?P<s>[^\s\"\\]++)",
        "machine mirror.example.com login kube password n0tapassword",
        "apt_auth.conf(5)",
    ),
    build_shape(
        "key of NGC",
        r"\$oauthtoken[\"']?[ \t]*(?::|-p|--password)[ \t=]*[\"']?(?P<s>[^\s\"'\\]+)",
        "$oauthtoken:bm90YWtleQ",
        "docs.nvidia.com/ngc: the user is $oauthtoken, the password the key",
    ),
    # A password may have @ and /, but a port before a path is none.
    build_shape(
        "login in an address",
        r"://(?P<s>[^/\s:@\"'\\]{0,256}:(?!\d{1,5}/)(?:(?!://)[^\s\"'\\]){1,512})@(?=[\w.\[-])",
        "http://kube:p@ss/w0rd@proxy.example.com:3128",
        "RFC 3986 3.2.1",
    ),
    build_shape(
        "token in an address",
        r"(?:https?|(?P<other>[a-z][a-z0-9+.-]{0,20}))://(?P<s>[A-Za-z0-9_.~-]{6,256}+)@(?=[\w.\[-])",
        "https://0123456789abcdef0@example.com/1",
        "RFC 3986 3.2.1; docs.sentry.io: DSN",
        is_token_of_address,
    ),
    build_shape(
        "webhook",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|"
        r"webhook\.office\.com/webhookb2|outlook\.office\.com/webhook|events\.pagerduty\.com/integration|"
        r"api\.telegram\.org)/(?P<s>[^\s\"'\\<>]+)",
        "https://hooks.slack.com/services/T000/B000/n0tahook",
        "api.slack.com/messaging/webhooks and the others' own pages: who has the address may send",
    ),
    build_shape(
        "another webhook",
        r"hooks?/(?P<s>[^\s\"'\\<>]{16,})",
        "https://chat.example.com/hooks/x1y2z3x1y2z3x1y2z3",
        "docs.mattermost.com: incoming webhooks",
        is_hook,
    ),
    build_shape(
        "parameter of an address",
        r"(?:[?&](?:[a-z_-]{0,20}token|(?:api_?)?key|sig|[a-z-]{0,20}signature|x-amz-credential|client_secret|"
        r"pass(?:word|wd|code)?|pwd|secret|otp|pin|code|code_verifier|device_code)=|(?:client_)?assertion=|samlresponse=|"
        r"\bcode=(?=[^&\s\"'\\<>]{6,512}+&))(?P<s>[^&\s\"'\\<>]{6,}+)",
        "https://example.com/x?sig=n0tasignature",
        "AWS Signature Version 4, Azure SAS, RFC 6750 2.3, RFC 6749 4.1.3, RFC 7523 2.2",
    ),
    build_shape(
        "token of a vendor",
        rf"(?<![\w-])(?P<s>{'|'.join(TOKEN_PATTERNS)})",
        "glpat-n0tatoken0n0tatoken0",
        "docs.github.com, docs.gitlab.com/security/tokens, api.slack.com/authentication/token-types: prefixes",
        flags=EXACT,
    ),
    build_shape(
        "compressed, in base64",
        r"(?<![A-Za-z0-9+/])(?P<s>(?:H4sI|SDRzS|KLUv|S0xVd|QlpoO|UWxwb|/Td6W|L1RkNl)[A-Za-z0-9+/]{24,}+={0,2})",
        "SDRzSUFBQUFBQUFBLzZ0V0trOXNTczFWc2xJeVZLb0ZBQT09",
        "RFC 1952, RFC 8878; helm.sh/docs/topics/advanced: releases are Secrets. Its text cannot be looked through.",
        flags=EXACT,
    ),
    build_shape(
        "code",
        r"(?<![A-Za-z0-9-])(?:t?otp|pin|(?:2fa|mfa|verification|one-time|auth(?:entication)?)[ _-]?code)(?:[ _-]?code)?"
        r"\\*+[\"']?[ \t]*+(?:[:=]|\bis\b)[ \t]*+\\*+[\"']?(?P<s>(?=[^\s\"'\\,;]{0,64}\d)[^\s\"'\\,;]{4,64})",
        "otp: 482915",
        "RFC 6238",
    ),
    build_shape(
        "hash of a password",
        r"(?P<s>\$(?:1|2[abxy]|5|6|7|y|gy|apr1|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+]{16,}|"
        r"\{S?SHA\d*\}[A-Za-z0-9+/=]{16,})",
        "$apr1$salt5678$n0tahashn0tahashn0taha",
        "crypt(5), htpasswd(1)",
        flags=EXACT,
    ),
)
