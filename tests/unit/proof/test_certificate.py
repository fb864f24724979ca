"""The document of a control plane: three values out of it are judged, and nothing else of it goes on."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st

from gpustack.proof.certificate import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    LONGEST,
    Request,
    find_values,
    parse_credential,
    read_server_names,
)
from gpustack.proof.credential import PROOF
from gpustack.proof.kubeconfig import Access, Server, write_kubeconfig
from tests.worlds.programs.certificates import DOCUMENT, Authority, encode, share_authority

REQUEST = Request("ann@desk", "kubeadm:cluster-admins", 24)
SERVER = Server("kube.example.com", 6443)
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", "id >/tmp/x"]}
# Every field of a Config of k8s.io/client-go 0.36 (tools/clientcmd/api/v1/types.go) but the three that are read.
OF_USER: dict[str, Any] = {
    "exec": EXEC,
    "auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "https://evil.example"}},
    "tokenFile": "/root/.ssh/id_ed25519",
    "token": "abc",
    "username": "admin",
    "password": "secret",
    "client-certificate": "/etc/passwd",
    "client-key": "/etc/shadow",
    "as": "system:admin",
    "as-uid": "0",
    "as-groups": ["system:masters"],
    "as-user-extra": {"a": ["b"]},
    "extensions": [{"name": "x", "extension": {"exec": EXEC}}],
}
OF_CLUSTER: dict[str, Any] = {
    "server": "https://evil.example",
    "proxy-url": "http://evil.example",
    "insecure-skip-tls-verify": True,
    "tls-server-name": "evil.example",
    "certificate-authority": "/etc/passwd",
    "disable-compression": True,
    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": "x"}],
}
OF_CONTEXT: dict[str, Any] = {"namespace": "kube-system", "extensions": [{"name": "x", "extension": 1}]}
OF_CONFIG: dict[str, Any] = {
    "preferences": {"colors": True, "extensions": [{"name": "x", "extension": 1}]},
    "extensions": [{"name": "x", "extension": {"exec": EXEC}}],
    "current-context": "evil",
}
MORE_USERS = [{"name": "evil", "user": {"exec": EXEC}}, {"name": "ann@desk", "user": {"tokenFile": "/etc/shadow"}}]
MORE_CLUSTERS = [{"name": "kubernetes", "cluster": {"server": "https://evil.example"}}]
MORE_CONTEXTS = [{"name": "evil", "context": {"cluster": "evil", "user": "evil"}}]


def read_clock() -> datetime:
    return datetime.now(UTC)


def sign_request(**fields: str) -> str:
    return share_authority().print_kubeconfig(REQUEST, **fields)


def expect_refusal(text: str, request: Request = REQUEST, time: datetime | None = None) -> str:
    with pytest.raises(ValueError) as excinfo:  # noqa: PT011 - the text is compared
        parse_credential(text, request, time or read_clock())
    return str(excinfo.value)


def write_access(text: str) -> str:
    return write_kubeconfig(Access(SERVER, parse_credential(text, REQUEST, read_clock())), "lab", REQUEST.client)


def choose(fields: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sets(st.sampled_from(sorted(fields)))
    return names.map(lambda chosen_names: {name: fields[name] for name in sorted(chosen_names)})


def add_fields(text: str, user: Any, cluster: Any, context: Any, config: Any, documents: tuple[Any, ...]) -> str:
    document = yaml.safe_load(text)
    document["users"][0]["user"] |= user
    document["clusters"][0]["cluster"] |= cluster
    document["contexts"][0]["context"] |= context
    for key, entries in zip(("users", "clusters", "contexts"), documents, strict=True):
        document[key] += entries
    return str(yaml.safe_dump({**document, **config}, width=10**6))


def test_a_document_of_kubeadm_becomes_ours() -> None:
    document = yaml.safe_load(write_access(sign_request()))
    assert document == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": {AUTHORITY: document["clusters"][0]["cluster"][AUTHORITY],
                                                 "server": "https://kube.example.com:6443"}}],
        "contexts": [{"name": "ann@desk@lab", "context": {"cluster": "lab", "user": "ann@desk"}}],
        "current-context": "ann@desk@lab",
        "users": [{"name": "ann@desk", "user": document["users"][0]["user"]}],
    }  # fmt: skip
    assert set(document["users"][0]["user"]) == {CERTIFICATE, KEY}


def test_a_program_that_a_host_names_is_not_written() -> None:
    document = yaml.safe_load(sign_request())
    document["users"][0]["user"]["exec"] = EXEC
    text = write_access(yaml.safe_dump(document, width=10**6))
    assert "exec" not in text
    assert "sh" not in text.split()


@given(
    choose(OF_USER),
    choose(OF_CLUSTER),
    choose(OF_CONTEXT),
    choose(OF_CONFIG),
    st.tuples(
        *(
            st.lists(st.sampled_from(extra_users), max_size=2)
            for extra_users in (MORE_USERS, MORE_CLUSTERS, MORE_CONTEXTS)
        )
    ),
)
def test_no_other_field_goes_on(user: Any, cluster: Any, context: Any, config: Any, documents: tuple[Any, ...]) -> None:
    """The document is determined by the four values: whatever stands beside them, its bytes are the same."""
    text = sign_request()
    assert write_access(add_fields(text, user, cluster, context, config, documents)) == write_access(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "# &anchor *alias !!python/object/apply:os.system ['id']\n",
        lambda text: text.replace("user:\n    client", "user: &a !!map\n    <<: *a\n    client"),
        lambda text: text + "exec: {command: sh}\n---\nexec: {command: sh}\n",
        lambda text: "\x1b]52;c;aWQ=\x07\n" + text,
        lambda text: text + "x" * 10**6,
    ],
)
def test_what_yaml_can_hide_does_not_go_on(change: Any) -> None:
    text = sign_request()
    assert write_access(change(text)) == write_access(text)


@pytest.mark.parametrize("key", [AUTHORITY, CERTIFICATE, KEY])
def test_each_value_stands_in_it_once(key: str) -> None:
    (line,) = (line for line in sign_request().splitlines() if key in line)
    expected_reason = "it does not have one CA, one client certificate and one key"
    assert expect_refusal(sign_request().replace(key, "x")) == expected_reason
    assert expect_refusal(f"{sign_request()}{line}\n") == expected_reason
    assert expect_refusal(sign_request().replace(f"{key}: ", f"{key}: &a ")) == expected_reason
    assert expect_refusal(sign_request() + f"    {key}: {'QQ' * LONGEST}\n") == expected_reason


def test_a_value_that_is_too_long_is_not_decoded() -> None:
    assert expect_refusal(sign_request(key="QUFB" * LONGEST)) == f"{KEY} is longer than {LONGEST} characters"


@pytest.mark.parametrize("text", ["", "hello", "apiVersion: v1\nkind: Config\nusers: []\n", "\x00", "{" * 10**5])
def test_what_is_no_kubeconfig_is_refused(text: str) -> None:
    assert expect_refusal(text) == "it does not have one CA, one client certificate and one key"


def test_a_certificate_of_another_ca_is_refused() -> None:
    other_client = Authority().sign_client(REQUEST)
    assert (
        expect_refusal(sign_request(authority=other_client["authority"]))
        == "the client certificate is not signed by the CA beside it"
    )
    named_client = Authority("another").sign_client(REQUEST)
    assert (
        expect_refusal(sign_request(authority=named_client["authority"]))
        == "the client certificate is not signed by the CA beside it"
    )


def test_a_ca_that_may_sign_nothing_is_refused() -> None:
    leaf = Authority(signs=False)
    assert expect_refusal(leaf.print_kubeconfig(REQUEST)) == "the CA is a certificate that may sign no other"


def test_a_key_of_another_certificate_is_refused() -> None:
    other_client = share_authority().sign_client(REQUEST)
    assert expect_refusal(sign_request(key=other_client["key"])) == "the key does not fit the client certificate"


@pytest.mark.parametrize(
    "key", [ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(public_exponent=65537, key_size=1024)]
)
def test_a_key_of_another_kind_is_refused(key: Any) -> None:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert expect_refusal(sign_request(key=encode(pem))) == "the key is neither RSA of 2048 bits or more nor ECDSA"


@pytest.mark.parametrize(
    "request_",
    [Request("bob", REQUEST.group, 24), Request(REQUEST.client, "system:masters", 24)],
)
def test_a_certificate_for_others_is_refused(request_: Request) -> None:
    expected_reason = "the client certificate is not for the user ann@desk in the group kubeadm:cluster-admins"
    assert expect_refusal(share_authority().print_kubeconfig(request_)) == expected_reason
    extra_group_client = share_authority().sign_client(REQUEST, groups=(REQUEST.group, "system:masters"))
    assert expect_refusal(DOCUMENT.format(**extra_group_client)) == expected_reason


def test_a_certificate_for_servers_is_refused() -> None:
    server_client = share_authority().sign_client(REQUEST, usage=ExtendedKeyUsageOID.SERVER_AUTH)
    assert expect_refusal(DOCUMENT.format(**server_client)) == "the client certificate is not for clients"


@pytest.mark.parametrize("hours", [-30, -3, 3, 24 * 365])
def test_a_certificate_of_another_validity_is_refused(hours: int) -> None:
    assert "and should at" in expect_refusal(sign_request(), REQUEST, read_clock() - timedelta(hours=hours))
    parse_credential(sign_request(), REQUEST, read_clock() + timedelta(minutes=50 if hours > 0 else -50))


def test_a_certificate_may_end_with_its_ca() -> None:
    long = Request(REQUEST.client, REQUEST.group, 24 * 365 * 20)
    authority = share_authority()
    values = authority.sign_client(Request(REQUEST.client, REQUEST.group, 24 * 3650))
    assert parse_credential(DOCUMENT.format(**values), long, read_clock()).certificate.startswith("-----BEGIN")


@given(st.sampled_from([AUTHORITY, CERTIFICATE, KEY]), st.binary(max_size=300), st.integers(0, 900), st.booleans())
def test_malformed_values_are_refused_or_are_values(key: str, noise: bytes, position: int, keep: bool) -> None:
    """Whatever bytes a value has, parsing ends with a reason. Of a CA the serial number, for one, may be any."""
    text = sign_request()
    whole_value = find_values(text)[key]
    other_value = whole_value[:position] + noise + whole_value[position + (len(noise) if keep else 0) :]
    changed_text = text.replace(b64encode(whole_value).decode(), b64encode(other_value).decode())
    try:
        access = write_access(changed_text)
    except ValueError:
        return
    differing = [(a, b) for a, b in zip(access.splitlines(), write_access(text).splitlines(), strict=True) if a != b]
    assert all(AUTHORITY in line for pair in differing for line in pair)


def test_names_of_the_api_server_are_read() -> None:
    authority = share_authority()
    credential = parse_credential(sign_request(), REQUEST, read_clock())
    names = read_server_names(authority.sign_server("Kube.example.com", "10.78.0.11", "10.96.0.1"), credential)
    assert names == {"kube.example.com", "10.78.0.11", "10.96.0.1"}
    for foreign in (Authority().sign_server("kube1"), "", "hello", 2 * authority.sign_server("kube1")):
        with pytest.raises(ValueError, match="the certificate of the API server is"):
            read_server_names(foreign, credential)


KUBEADM = Path(__file__).parents[2] / "recorded" / "kubeadm"
PRINTED_AT = datetime.fromisoformat("2026-11-28T06:18:33+00:00")


def test_what_kubeadm_prints_is_taken() -> None:
    text = (KUBEADM / "kubeconfig.txt").read_text()
    credential = parse_credential(text, PROOF, PRINTED_AT)
    assert {credential.authority, credential.certificate, credential.key} == {
        pem.decode() for pem in find_values(text).values()
    }
    assert read_server_names((KUBEADM / "apiserver.crt").read_text(), credential) >= {
        "kube.example.com", "kube.example.net", "kubernetes", "kube1", "10.96.0.1", "192.0.2.11",
    }  # fmt: skip
    with pytest.raises(ValueError, match="and should at"):
        parse_credential(text, PROOF, PRINTED_AT + timedelta(hours=3))
