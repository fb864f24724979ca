import pytest

from gpustack.errors import LabError
from gpustack_lab.lab.releases import SUITES, filter_settings, parse_own_release, render_sources, select_releases

TARGETS = """\
DEP-11 http://archive.example/debian/ bookworm main
Packages http://archive.example/debian/ bookworm main
Packages http://archive.example/debian/ bookworm main
Packages http://archive.example/debian/ bookworm contrib
Packages http://archive.example/debian/ bookworm-updates main
Packages http://security.example/debian-security/ bookworm-security main
Packages https://vendor.example/linux/debian/ bookworm stable
Packages https://tools.example/apt/ tools-bookworm main
"""


def test_hosts_take_turns() -> None:
    assert select_releases(3, ["debian-12,debian-13"]) == ["debian-12", "debian-13", "debian-12"]
    assert select_releases(2, ["debian-12", "debian-13"]) == ["debian-12", "debian-13"]


@pytest.mark.parametrize(
    ("os_release", "expected"),
    [
        ('ID=debian\nVERSION_ID="13"\n', "debian-13"),
        ('ID=debian\nVERSION_ID="12"\nNAME="Debian GNU/Linux"\n', "debian-12"),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', "debian-12"),
        ("ID=arch\n", "debian-12"),
    ],
)
def test_the_machine_s_own_release_is_parsed(os_release: str, expected: str) -> None:
    assert parse_own_release(os_release) == expected


def test_sources_name_the_archive_with_the_codename_alone() -> None:
    sources = render_sources("trixie", TARGETS, SUITES)
    suites = [line.split()[1] for line in sources.splitlines() if line.startswith("Suites:")]
    assert suites == ["trixie", "trixie-updates", "trixie-security"]
    assert "vendor.example" not in sources
    assert "tools.example" not in sources
    assert sources.count("Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg") == 3


def test_a_second_suite_is_of_the_archive_alone() -> None:
    assert [
        line for line in render_sources("sid", TARGETS, SUITES[:1]).splitlines() if line.startswith(("URIs", "Suites"))
    ] == [
        "URIs: http://archive.example/debian/",
        "Suites: sid",
    ]


def test_a_machine_without_a_debian_archive_is_refused() -> None:
    with pytest.raises(LabError) as excinfo:
        render_sources("bookworm", "Packages http://archive.example/ubuntu/ noble main\n", SUITES)
    assert excinfo.value.reference == "lab-no-debian-archive"


def test_only_proxies_and_clock_settings_travel() -> None:
    dump = (
        'Acquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::http::Proxy::inside.example "DIRECT";\n'
        'Acquire::https::Proxy "";\n'
        'Acquire::Check-Valid-Until "false";\n'
        'Acquire::Languages "none";\n'
        'Acquire::http::ProxyAutoDetect "/usr/bin/find-proxy";\n'
    )
    assert filter_settings(dump).splitlines() == [
        'Acquire::http::Proxy "http://proxy.example:3128";',
        'Acquire::http::Proxy::inside.example "DIRECT";',
        'Acquire::Check-Valid-Until "false";',
    ]
