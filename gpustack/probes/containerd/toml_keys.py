"""Pruning of containerd's files on the host: tables, keys, numbers, and the texts of the named keys leave it.

Logins of registries, headers and comments stay on the host, also where a line is not TOML. Lines keep their numbers,
and a line that is not TOML stays so, so that the parser finds the error in the same line. A text that says how a login
compares (`same, mode 0600`) is written by the probe, and is kept.
"""

from gpustack.ask.script_file import read_script

FUNCTION = read_script(__file__, "toml_keys.sh")
