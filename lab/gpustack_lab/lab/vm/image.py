"""Cloud images as disks of lab hosts: found, verified, copied, and given their identity by cloud-init.

cloud-init takes it from a disk with the label cidata
(https://cloudinit.readthedocs.io/en/latest/reference/datasources/nocloud.html).
"""

import hashlib
import json
import os
import re
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import yaml

from gpustack.command import Command, Prose
from gpustack.errors import LabError
from gpustack_lab.lab import identity, releases
from gpustack_lab.lab.commands import run, try_run
from gpustack_lab.lab.state import Host, Record, locate_cache

HINT = Command("gpustack", "lab", "up", "--image", "FILE")
BOOT_SECTOR, SIGNATURE = 512, b"\x55\xaa"
SUM = "sha256="
DIGEST = re.compile(r"[0-9a-f]{64}")
FORMATS = ("raw", "qcow2")
TRANSFER_LIMIT = 60.0
PIECE = 1 << 20


def find(text: str) -> Path:
    """Find the file that `--image` names. An address is fetched first, once. Raise LabError."""
    if text.lower().startswith(("http://", "https://")):
        return _fetch(text)
    file = Path(text).resolve()
    if not file.is_file():
        raise LabError("lab-bad-image", f"There is no image {text}.", "It is neither a file nor an address.", HINT)
    _require_disk(file)
    return file


def _require_disk(file: Path) -> None:
    """Require a disk image. QEMU takes an unknown file for a raw disk, so a raw one has to begin with a boot sector.
    Raise LabError."""
    process = try_run(["qemu-img", "info", "--output=json", str(file)])
    image_info = json.loads(process.stdout) if process.returncode == 0 else {}
    kind = image_info.get("format", "")
    # Such an image is more than its file: it would read others of this machine into the host's disk.
    data_file = image_info.get("format-specific", {}).get("data", {}).get("data-file")
    other_file = image_info.get("backing-filename") or data_file
    if kind not in ("", *FORMATS) or other_file:
        reason = (
            f"It refers to {other_file}." if other_file else f"Its format is {kind}; {' and '.join(FORMATS)} are taken."
        )
        raise LabError(
            "lab-bad-image", f"{file} cannot be a lab host's disk.", reason, Command("qemu-img", "info", str(file))
        )
    with file.open("rb") as stream:
        sector = stream.read(BOOT_SECTOR)
    if not kind or (kind == "raw" and not sector.endswith(SIGNATURE)):
        reason = process.stderr.strip() or "It has the format of no disk image, and no boot sector."
        raise LabError("lab-bad-image", f"{file} is no disk image.", reason, Command("qemu-img", "info", str(file)))


def _fetch(text: str) -> Path:
    address, fragment = urldefrag(text)
    expected_digest = fragment.removeprefix(SUM).lower()
    if not fragment.startswith(SUM) or not DIGEST.fullmatch(expected_digest):
        reason = "What is downloaded is verified. Publishers of images have a file SHA256SUMS beside them."
        raise LabError(
            "lab-bad-image",
            "The address of an image needs its checksum.",
            reason,
            Prose("gpustack lab up --image URL#{}HEX", SUM),
        )
    file = locate_cache() / "images" / f"{expected_digest}.img"
    if not file.exists():
        part, checksum = file.with_suffix(f".{os.getpid()}"), hashlib.sha256()
        part.parent.mkdir(parents=True, exist_ok=True)
        try:
            with urllib.request.urlopen(address, timeout=TRANSFER_LIMIT) as answer, part.open("wb") as output:  # noqa: S310
                while piece := answer.read(PIECE):
                    checksum.update(piece)
                    output.write(piece)
            if checksum.hexdigest() != expected_digest:
                reason = f"Its SHA-256 is {checksum.hexdigest()}, not {expected_digest}."
                raise LabError(
                    "lab-bad-image", f"{address} is another file.", reason, Command("curl", "--head", address)
                )
            _require_disk(part)
            part.rename(file)
        except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError; an address may be none at all
            reason, hint = str(error), Command("curl", "-v", address)
            raise LabError("lab-bad-image", f"{address} cannot be fetched.", reason, hint) from None
        finally:
            part.unlink(missing_ok=True)
    return file


def copy(image: Path, disk: Path, size: str) -> None:
    """Copy the image to a raw disk of that size. cloud-init lets its last filesystem grow into it."""
    kind = json.loads(run(["qemu-img", "info", "--output=json", str(image)]))["format"]
    run(["qemu-img", "convert", "-f", kind, "-O", "raw", str(image), str(disk)], limit=600.0)
    process = try_run(["qemu-img", "resize", "-f", "raw", str(disk), size])
    if process.returncode != 0:
        reason = process.stderr.strip()
        raise LabError(
            "lab-bad-image", f"{image} does not fit a disk of {size}.", reason, Command("qemu-img", "info", str(image))
        )


def write_seed(record: Record, host: Host, directory: Path) -> None:
    """Write the files that cloud-init configures the host from: user ops with the lab's key, the known host key, its
    address."""
    directory.mkdir(mode=0o700)
    keys = record.state / "ssh"
    _write(directory / "meta-data", {"instance-id": record.format_machine_name(host), "local-hostname": host.name})
    _write(
        directory / "network-config",
        {
            "version": 2,
            "ethernets": {
                "lab": {
                    "match": {"driver": "virtio_net"},
                    "addresses": [f"{host.address}/24"],
                    "routes": [{"to": "0.0.0.0/0", "via": record.gateway}],
                    "nameservers": {
                        "addresses": [line.split()[1] for line in identity.read_nameservers().splitlines()]
                    },
                }
            },
        },
    )
    user = {
        "name": "ops",
        "sudo": "ALL=(ALL) NOPASSWD:ALL",
        "shell": "/bin/bash",
        "lock_passwd": True,
        "ssh_authorized_keys": [(keys / "id_ed25519.pub").read_text().strip()],
    }
    host_key = keys / f"{host.name}_ed25519"
    data: dict[str, Any] = {
        "users": [user],
        "ssh_keys": {
            "ed25519_private": host_key.read_text(),
            "ed25519_public": host_key.with_suffix(".pub").read_text().strip(),
        },
        "package_update": False,
    }
    settings, certificates = releases.read_environment()
    if settings:
        data["write_files"] = [{"path": "/etc/apt/apt.conf.d/90machine", "content": settings}]
    if certificates:
        data["ca_certs"] = {"trusted": [pem.decode() for pem in certificates.values()]}
    _write(directory / "user-data", data, first="#cloud-config\n")


def _write(file: Path, content: dict[str, Any], first: str = "") -> None:
    file.touch(mode=0o600)
    file.write_text(first + yaml.safe_dump(content, sort_keys=False))
