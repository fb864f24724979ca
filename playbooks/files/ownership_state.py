"""Compute the states of files, folders and data on this host, and which cluster they are of.

First part of a program for hosts, with ownership_read.py, ownership_record.py and ownership_reset.py after it in one
text; Python 3.8.
"""

import base64
import glob
import hashlib
import os
import re
import stat

ROOT = os.environ.get("OWNERSHIP_ROOT", "")
MOST_BYTES = 4 << 20
ABSENT, PRESENT = "absent", "present"
# What programs of a cluster write has no digest that stays: it counts as there or not there.
BY_PRESENCE = {"data", "store", "folder", "link", "private"}
# A reset removes what is in it: it may be a link to a larger disk, or a disk of its own.
EMPTIED = {"/var/lib/kubelet"}
SERVED = "/etc/kubernetes/pki/ca.crt"
CREDENTIALS = ("/etc/kubernetes/kubelet.conf", "/etc/kubernetes/admin.conf")


def read_bytes(path, limit=MOST_BYTES):
    """Read a regular file that is no link; raise OSError."""
    with open(os.open(ROOT + path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(path + " is no file")
        return file.read(limit)


def digest_file(path):
    digest = hashlib.sha256()
    with open(os.open(ROOT + path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def look_up(path):
    try:
        return os.lstat(ROOT + path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def describe(path):
    """Compute the state of a file, a link or a folder with all that is in it; raise OSError."""
    status = look_up(path)
    if status is None:
        return ABSENT
    mode, owner = "%04o" % stat.S_IMODE(status.st_mode), "%d:%d" % (status.st_uid, status.st_gid)
    if stat.S_ISREG(status.st_mode):
        return " ".join(("file", mode, owner, digest_file(path)))
    if stat.S_ISLNK(status.st_mode):
        return " ".join(("link", owner, hashlib.sha256(os.fsencode(os.readlink(ROOT + path))).hexdigest()))
    if not stat.S_ISDIR(status.st_mode):
        return " ".join(("special", mode, owner))
    names = sorted(os.listdir(ROOT + path))
    lines = "".join("%r %s\n" % (name, describe(path + "/" + name)) for name in names)
    return " ".join(("folder", mode, owner, hashlib.sha256(lines.encode()).hexdigest()))


def find_state(path, kind):
    """Compute the state of a declared thing; raise OSError where it cannot be read."""
    if kind not in BY_PRESENCE:
        return describe(path)
    if "*" in path:
        return PRESENT if glob.glob(ROOT + path) else ABSENT
    status = look_up(path)
    if status is None:
        return ABSENT
    if path in EMPTIED and os.path.isdir(ROOT + path):
        return PRESENT if set(os.listdir(ROOT + path)) - {"lost+found"} else ABSENT
    empty = kind in ("data", "store", "private") and stat.S_ISDIR(status.st_mode) and not os.listdir(ROOT + path)
    return ABSENT if empty else PRESENT


def extract_public_key(certificate):
    """Cut the SubjectPublicKeyInfo out of a certificate in DER."""

    def find_element(start):
        length, first = certificate[start + 1], start + 2
        if length & 0x80:
            first += length & 0x7F
            length = int.from_bytes(certificate[start + 2 : first], "big")
        return first, first + length

    at = find_element(find_element(0)[0])[0]
    if certificate[at] == 0xA0:
        at = find_element(at)[1]
    for _ in range(5):
        at = find_element(at)[1]
    return certificate[at : find_element(at)[1]]


def digest_authority(pem):
    """Compute the digest of a CA as kubeadm has it in discovery-token-ca-cert-hash; raise ValueError."""
    found = re.search("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", pem, re.DOTALL)
    try:
        certificate = base64.b64decode(found.group(1) if found else "", validate=False)
        return "sha256:" + hashlib.sha256(extract_public_key(certificate)).hexdigest()
    except IndexError as error:
        raise ValueError("no certificate") from error


def find_digests(path):
    """Compute the digests of the CAs that a certificate or a kubeconfig names; raise OSError or ValueError."""
    if look_up(path) is None:
        return set()
    text = read_bytes(path).decode()
    if path == SERVED:
        return {digest_authority(text)}
    found = re.findall(r"^\s*certificate-authority-data:\s*(\S+)\s*$", text, re.MULTILINE)
    return {digest_authority(base64.b64decode(data).decode()) for data in found}


def find_cluster():
    """Compute the digest of the CA that this host's files name; empty without one, None where it is unclear."""
    digests = set()
    try:
        for path in (SERVED, *CREDENTIALS):
            digests |= find_digests(path)
    except (OSError, ValueError):
        return None
    return digests.pop() if len(digests) == 1 else None if digests else ""
