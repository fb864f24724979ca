"""Objects as a step wants them in the cluster, stamped with a digest, and whether they are there so."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask.judge import Mismatch, said
from gpustack.probes.applied import DIGEST, LABEL, MANAGER, Applied

Object = dict[str, Any]


def stamped(kind: str, api: str, namespace: str, name: str, more: Mapping[str, Any], content: Object) -> Object:
    """An object of ours. `more` are further labels and annotations, `content` is all beside the metadata. An empty
    namespace is that of no namespace."""
    labels = {LABEL: MANAGER, **more.get("labels", {})}
    annotations = dict(more.get("annotations", {}))
    told = json.dumps([labels, annotations, content], sort_keys=True, separators=(",", ":"))
    annotations[DIGEST] = hashlib.sha256(told.encode()).hexdigest()
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **content}


def differing(what: str, wanted: Sequence[Object], found: Mapping[str, Applied] | None) -> Mismatch | None:
    """What is not there, is of an older spec or release, or was changed by somebody else."""
    wrong: dict[str, list[str]] = {}
    for one in wanted:
        metadata = one["metadata"]
        is_now = (found or {}).get(f"{metadata.get('namespace', '')}/{metadata['name']}")
        if is_now is None:
            wrong.setdefault("missing", []).append(metadata["name"])
        elif is_now.digest != metadata["annotations"][DIGEST]:
            wrong.setdefault("of another content", []).append(metadata["name"])
        elif is_now.others:
            wrong.setdefault(f"changed by {said(is_now.others)}", []).append(metadata["name"])
    if not wrong:
        return None
    return Mismatch(what, "as we bring them", "; ".join(f"{said(names)} {how}" for how, names in wrong.items()))
