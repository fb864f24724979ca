"""docs/reset.md lists what the removal scripts of Debian's packages delete.

Where a listed package is installed on this machine in a listed version, its real script is compared with the row.
"""

import re
import subprocess
from pathlib import Path

from gpustack.probes.packages.software import HOST_PACKAGES
from gpustack.probes.standalone.units import ALERTMANAGER, NODE_EXPORTER, PROMETHEUS

PAGE = Path(__file__).parents[2] / "docs" / "reset.md"
DEBIAN = {*HOST_PACKAGES, "apparmor", "systemd-timesyncd", PROMETHEUS, ALERTMANAGER, NODE_EXPORTER}
DELETES = re.compile(r"^\s*rm -r?f ([^|&;]+)", re.MULTILINE)


def read_rows() -> dict[str, tuple[str, str]]:
    """Read the table as package → (versions, what a purge deletes)."""
    table = PAGE.read_text().partition("| package | versions |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {
        name.split(" ")[0]: (versions, deletion) for names, versions, deletion in cells for name in names.split(", ")
    }


def test_each_debian_package_that_gpustack_installs_has_a_row() -> None:
    assert sorted(DEBIAN - set(read_rows())) == []


def test_the_rows_say_what_the_scripts_on_this_machine_delete() -> None:
    for name, (versions, deletion) in read_rows().items():
        query = subprocess.run(["dpkg-query", "-Wf", "${Version}", name], capture_output=True, text=True, check=False)
        script = Path(f"/var/lib/dpkg/info/{name}.postrm")
        if query.returncode or query.stdout not in versions or not script.exists():
            continue
        text = script.read_text().replace("\\\n", " ").partition("# Automatically added")[0]
        paths = [word for match in DELETES.findall(text) for word in match.split() if word.startswith("/etc/")]
        assert [path for path in paths if f"`{path}`" not in deletion] == [], name
