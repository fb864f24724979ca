"""A program goes into an image with its libraries."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpustack.errors import BundleError
from gpustack_lab.bundle import userland


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """This machine's `ls` and its libraries, laid out as unpacked packages are: not merged, reached through links."""
    output = subprocess.run(["ldd", "/bin/ls"], capture_output=True, text=True, timeout=10, check=True).stdout
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/ls", root / "bin" / "ls")
    for path in (Path(match) for match in re.findall(r"(/\S+) \(0x", output)):
        place = root / "lib" / "somewhere" / f"{path.name}.real"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
        link = root / ("lib64" if "ld-linux" in path.name else "usr/lib/somewhere") / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/lib/somewhere/{place.name}")
    return root


def test_a_program_brings_its_libraries_and_its_loader(root: Path) -> None:
    files = userland.resolve_libraries(root, ["/bin/ls"])
    names = {Path(place).name for place in files}
    assert {"ls", "libc.so.6"} < names
    assert any("ld-linux" in name for name in names)
    assert all(place.startswith("/usr/") for place in files)
    assert all(path.is_file() and not path.is_symlink() and root in path.parents for path in files.values())


def test_libraries_of_libraries_come_too(root: Path) -> None:
    direct = subprocess.run(["readelf", "-d", "/bin/ls"], capture_output=True, text=True, timeout=10, check=True).stdout
    files = {Path(place).name for place in userland.resolve_libraries(root, ["/bin/ls"])}
    assert set(re.findall(r"NEEDED.*\[(.+)\]", direct)) < files


def test_a_library_that_no_package_brought_is_named(root: Path) -> None:
    (root / "usr/lib/somewhere/libc.so.6").unlink()
    with pytest.raises(BundleError) as excinfo:
        userland.resolve_libraries(root, ["/bin/ls"])
    assert excinfo.value.reference == "bundle-library-missing"
    assert "libc.so.6" in excinfo.value.message


def test_a_machine_without_a_source_of_apt_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(userland, "APT", tmp_path / "apt")
    with pytest.raises(BundleError) as excinfo:
        userland._prepare_apt(tmp_path / "home")
    assert excinfo.value.reference == "bundle-apt-sources"
