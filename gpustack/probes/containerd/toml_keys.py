"""A file of containerd's as it leaves the host: tables, keys, numbers, and the texts of the keys that are named. Logins
of registries, headers, comments and whatever else stands there stay on the host, also where a line is no TOML; lines
keep their numbers, and what is no TOML stays none, so that the parser finds a fault in the same line.

A text that says how a login compares (`same, mode 0600`) was put there by the probe, and stays.
"""

from gpustack.ask.script_file import read_script

FUNCTION = read_script(__file__, "toml_keys.sh")
