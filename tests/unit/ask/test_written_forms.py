"""A known secret leaves in no way of writing that programs have."""

import json
import textwrap
from base64 import b64encode
from collections.abc import Callable
from gzip import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.redact.redact import redact
from gpustack.ask.redact.written_forms import decode_text

SECRET = "fig-Léaf/77 & \"more\" 'ß'"
Writer = Callable[[str], str]


def wrap(text: str, width: int) -> str:
    return "\n".join(text[index : index + width] for index in range(0, len(text), width))


def encode_utf16(text: str) -> str:
    units = text.encode("utf-16-be").hex()
    return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))


def encode_base64(text: str) -> str:
    return b64encode(text.encode("utf-8", "surrogatepass")).decode()


def build_docker_config(text: str) -> str:
    return encode_base64(json.dumps({"auths": {"registry.example.com": {"auth": encode_base64(f"kube:{text}")}}}))


WRITERS: dict[str, Writer] = {
    "quoted whole for an address": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "quoted twice for an address": lambda text: "".join(f"%25{byte:02x}" for byte in text.encode()),
    "in units of JSON": encode_utf16,
    "bytes as Python writes them": lambda text: repr(text.encode()),
    "bytes in octal": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "references of HTML": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "references in hexadecimal": lambda text: "".join(f"&#x{ord(char):X};" for char in text),
    "over two lines": lambda text: f"{text[:7]}\n    {text[7:]}",
    "over lines of five": lambda text: wrap(text, 5),
    "over lines in JSON": lambda text: json.dumps(wrap(text, 5)),
    "coloured": lambda text: f"{text[:5]}\x1b[1;31m{text[5:9]}\x1b[0m{text[9:]}",
    "coloured in JSON": lambda text: json.dumps(f"{text[:5]}\x1b[1;31m{text[5:9]}\x1b[0m{text[9:]}"),
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "base64 twice": lambda text: encode_base64(encode_base64(text)),
    "login in a pull secret": build_docker_config,
    "hexadecimal over lines": lambda text: wrap(text.encode().hex(), 8),
}


@pytest.mark.parametrize("form", WRITERS)
def test_no_way_of_writing_leaves_it(form: str) -> None:
    written_text = WRITERS[form](SECRET)
    output = redact(f"before {written_text} behind", [SECRET])
    for index in range(len(written_text) - 11):
        assert written_text[index : index + 12] not in output
    assert output.startswith("before ")
    assert output.endswith(" behind")


def test_a_pull_secret_over_lines_is_gone_where_the_login_stands() -> None:
    inner = encode_base64(f"kube:{SECRET}")
    start = json.dumps({"auths": {"registry.example.com": {"auth": inner}}}).index(inner) * 4 // 3
    config = build_docker_config(SECRET)
    output = redact(textwrap.fill(config, 40), [SECRET]).replace("\n", "")
    assert [index for index in range(start + 10, start + len(inner)) if config[index : index + 8] in output] == []


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=8, max_size=40))
def test_no_secret_is_left_in_any_way_of_writing(secret: str) -> None:
    if len(decode_text(secret)[-1].plain) < 8:
        return
    for form, write in WRITERS.items():
        written_text = write(secret)
        assert written_text[2:-2] not in redact(f"before {written_text} behind", [secret]), form


@pytest.mark.parametrize("secret", ["fig-leaf-77%", "fig-%41-leaf-77%", "%fig-leaf-77"])
def test_a_percent_sign_at_its_end_joins_no_word_behind_it(secret: str) -> None:
    """A form that drops blanks turns `% be` into the escape `%be`."""
    written_text = WRITERS["quoted whole for an address"](secret)
    assert redact(f"before {written_text} behind", [secret]) == "before REDACTED behind"


@pytest.mark.parametrize("size", [6, 8, 12, 20])
@pytest.mark.parametrize("text", ["said {}", "said {}\nmore", "said {}...", "said {}… (cut)", '{{"said": "{}"}}'])
def test_the_beginning_goes_where_the_text_is_cut(size: int, text: str) -> None:
    secret = "q8Wn-3vTz-Lm5R-x2Kd-7Hs"[: size * 2]
    cut = text.format(secret[: max(size, (len(secret) + 1) // 2)])
    assert secret[: size // 2 + 3] not in redact(cut, [secret])


@pytest.mark.parametrize("text", ["{} is what follows", "first\n{} second", "...{} second"])
def test_the_end_goes_where_the_text_is_cut(text: str) -> None:
    secret = "q8Wn-3vTz-Lm5R-x2Kd-7Hs"
    assert "x2Kd-7Hs" not in redact(text.format(secret[10:]), [secret])


def test_a_word_that_a_secret_begins_with_stays() -> None:
    text = "the password of the host: passwords are\nhttps://example.com/hooks"
    assert redact(text, ["passwords-of-mine-77", "https://example.com/hooks/q8Wn3vTzLm5Rx2Kd7Hs4"]) == text


def test_a_release_of_helm_is_gone() -> None:
    release = encode_base64(encode_bytes(compress(b'{"config": {"adminPassword": "fig-leaf-77"}}')))
    assert release[8:-8] not in redact(json.dumps({"data": {"release": release}}))


def encode_bytes(data: bytes) -> str:
    return b64encode(data).decode()


@given(st.text())
def test_each_plain_character_has_its_place(text: str) -> None:
    for reading in decode_text(text):
        position = 0
        for place in range(len(reading.plain)):
            start, end = reading.locate(place)
            assert position <= start < end <= len(text)
            position = start
