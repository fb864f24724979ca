"""A host's apt, in a folder of its own."""

import subprocess
from pathlib import Path


class Host:
    """A private apt directory with one source in it."""

    def __init__(self, home: Path, key: Path, source: str) -> None:
        for directory in ("etc/sources.list.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
            (home / directory).mkdir(parents=True)
        (home / "status").touch()
        (home / "etc" / "sources.list").write_text(f"deb [signed-by={key}] {source}\n")
        places = {"Dir::Etc": home / "etc", "Dir::State": home / "state", "Dir::State::Status": home / "status"}
        places |= {"Dir::Cache": home / "cache", "Dir::Log": home, "APT::Sandbox::User": Path("root")}
        self.options = [word for key_, value in places.items() for word in ("-o", f"{key_}={value}")]

    def run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [program, *self.options, *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
