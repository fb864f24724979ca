"""A host whose firmware starts only what is signed: DKMS builds and signs a module, the kernel refuses it, our probe
says so; with a key that the firmware knows it is loaded, and our probe says that.

The firmware is OVMF with the test keys that Debian ships ("snakeoil"), of which the private one is public. There is no
shim, so keys are in the firmware's own list (db), not in MokList.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script_file import read_script
from gpustack.events import ignore_event
from gpustack.probes.gpu import driver as driver_probe
from gpustack.probes.gpu.driver import GpuDriver
from gpustack_lab import lab
from gpustack_lab.lab import hosts, locks

pytestmark = pytest.mark.vm

NAME = "secure-boot"
KEYS = Path("/usr/share/ovmf")
VARIABLES = Path("/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd")
PASSWORD = "snakeoil"
PACKAGES = "mokutil dkms linux-headers-cloud-amd64"
MODULE = """mkdir -p /usr/src/hello-1
cat >/usr/src/hello-1/hello.c <<'C'
#include <linux/module.h>
static int __init come(void) { return 0; }
static void __exit go(void) { }
module_init(come); module_exit(go); MODULE_LICENSE("GPL");
C
echo 'obj-m += hello.o' >/usr/src/hello-1/Makefile
cat >/usr/src/hello-1/dkms.conf <<'C'
PACKAGE_NAME=hello
PACKAGE_VERSION=1
BUILT_MODULE_NAME[0]=hello
DEST_MODULE_LOCATION[0]=/updates
AUTOINSTALL=yes
C
"""


def on(
    running_lab: lab.Lab, script: str, *, text: str = "", code: int | None = 0
) -> "subprocess.CompletedProcess[str]":
    process = running_lab.exec("host1", ["sudo", "sh", "-c", script], text=text, limit=3600)
    assert code is None or process.returncode == code, (script, process.stdout, process.stderr)
    return process


@pytest.fixture(scope="module")
def one_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """A host with its own kernel, signed with the key that its firmware knows."""
    folder = tmp_path_factory.mktemp("keys")
    lab.remove_lab(NAME)
    made_lab = lab.create_lab(NAME, releases=["debian-13"], vm=True)
    on(
        made_lab,
        "apt-get -qqy update && apt-get -qqy install --no-install-recommends mokutil dkms linux-headers-cloud-amd64",
    )
    root = made_lab.record.locate_root(made_lab.hosts[0])
    key = folder / "key.pem"
    subprocess.run(
        ["openssl", "rsa", "-in", KEYS / "PkKek-1-snakeoil.key", "-passin", f"pass:{PASSWORD}", "-out", key],
        check=True,
        capture_output=True,
    )
    with locks.hold_lock(made_lab.name):
        hosts.stop(made_lab.record, made_lab.hosts, ignore_event)
        hosts.kill(made_lab.record, made_lab.hosts)
        shutil.copyfile(VARIABLES, root / "firmware.fd")
        certificate, kernel = KEYS / "PkKek-1-snakeoil.pem", root / "vmlinuz"
        sign = ["sbsign", "--key", str(key), "--cert", str(certificate), "--output", str(kernel), str(kernel)]
        subprocess.run(sign, check=True, capture_output=True)
        hosts.boot(made_lab.record, made_lab.hosts)
    hosts.wait_for_ssh(made_lab.record, made_lab.hosts, ignore_event)
    on(made_lab, "cat >/root/key.pem", text=key.read_text())
    on(made_lab, "cat >/root/certificate.pem", text=(KEYS / "PkKek-1-snakeoil.pem").read_text())
    yield made_lab
    made_lab.remove()


def read_driver(running_lab: lab.Lab) -> GpuDriver:
    """Run our probe and parse it. The host has no GPU, without which the product would not ask."""
    process = on(running_lab, "sh -s", text=read_script(driver_probe.__file__, "driver.sh"))
    return driver_probe.parse_gpu_driver(Answer("gpu.driver", "host1", process.returncode, process.stdout))


def test_the_kernel_loads_only_what_is_signed(one_host: lab.Lab) -> None:
    assert on(one_host, "mokutil --sb-state").stdout.strip() == "SecureBoot enabled"
    assert "[integrity]" in on(one_host, "cat /sys/kernel/security/lockdown").stdout


def test_what_dkms_builds_is_signed_and_refused(one_host: lab.Lab) -> None:
    on(one_host, MODULE)
    on(one_host, "dkms install -m hello -v 1")
    assert "DKMS module signing key" in on(one_host, "modinfo -F signer hello").stdout
    refusal = on(one_host, "modprobe hello", code=1)
    assert "Key was rejected by service" in refusal.stderr
    gpu_driver = read_driver(one_host)
    assert (gpu_driver.secure_boot, gpu_driver.key, gpu_driver.key_enrolled) == (True, "/var/lib/dkms/mok.pub", False)


def test_with_a_key_of_the_firmware_it_is_loaded(one_host: lab.Lab) -> None:
    """DKMS is given that key, as its framework.conf allows."""
    on(one_host, "openssl x509 -in /root/certificate.pem -outform DER -out /root/certificate.der")
    conf = "mok_signing_key=/root/key.pem\nmok_certificate=/root/certificate.der\n"
    on(one_host, f"printf '{conf}' >/etc/dkms/framework.conf.d/key.conf")
    on(one_host, "dkms remove -m hello -v 1 --all && dkms install -m hello -v 1")
    on(one_host, "modprobe hello && rmmod hello")
    gpu_driver = read_driver(one_host)
    assert (gpu_driver.secure_boot, gpu_driver.key, gpu_driver.key_enrolled) == (True, "/root/certificate.der", True)
