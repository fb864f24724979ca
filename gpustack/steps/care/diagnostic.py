"""The program of the daily diagnostic, for the shell of a pod or of a host: dcgmi, and how its end is told.

A return code alone does not say whether a test failed or none ran (gpustack/engines/diagnostic.py): the status does.
Without --host, dcgmi asks the engine of localhost, and starts one of its own where there is none
(gpustack/engines/engine.py).
"""

FAILED_STATUS, UNKNOWN_STATUS = 3, 4
"""Exit statuses beside 0: a test failed, and no test failed, but whether all is well is unknown."""
DIAG_LIMIT = 120
"""Seconds of the diagnostic, as dcgmi counts them."""


def build_script(before: str = "") -> str:
    """Build the script. `before` stands before dcgmi."""
    return f"""\
out=$({before}dcgmi diag --run 1 --json --timeout {DIAG_LIMIT})
code=$?
printf '%s\\n' "$out"
case $out in *'"Fail"'*) exit {FAILED_STATUS} ;; esac
[ "$code" = 0 ] || exit {UNKNOWN_STATUS}
case $out in *'"Pass"'*) exit 0 ;; esac
exit {UNKNOWN_STATUS}
"""
