"""The record of one change, written on the host before the change is made.

A state is a word that two readings of the same thing share exactly when nothing differs: `absent`, or kind, mode, owner
and digest of a file, or digest of an object of the cluster. How a state is computed is the concern of whoever reads it.
"""

from dataclasses import dataclass

ABSENT = "absent"


@dataclass(frozen=True)
class Record:
    """Hold the states of a thing before a change and after it.

    `after` is empty from the moment the change is intended until it is done. `cluster` is the digest of the CA of the
    cluster whose data a directory holds, empty for what is not data of a cluster. `run` and `recorded_at` say which run
    wrote the record, and when (RFC 3339).
    """

    kind: str
    name: str
    before: str
    after: str = ""
    cluster: str = ""
    run: str = ""
    recorded_at: str = ""
