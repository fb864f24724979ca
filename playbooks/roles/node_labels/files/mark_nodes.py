"""Give nodes their labels and taints. Reads a JSON list of nodes on standard input: `name`, `uid`, the `object` for
server-side apply, and `added_taints`, `removed_taints` and `recorded_taints`. Says `changed: …` for each change.

Labels are applied without force, so that the API server refuses one that somebody else has set otherwise. Taints are
one field of the API: the whole list is written, with the version of the node that it was read from, and anew where
somebody changed the node meanwhile. A node of another uid is another one. Python 3.8.
"""

import json
import os
import subprocess
import sys

MANAGER, RECORD = "gpustack-nodes", "gpustack.io/taints"
ATTEMPTS, LIMIT = 5, 60
CONFLICT = "(Conflict)"


def run_kubectl(*words, text=None):
    environment = dict(os.environ, KUBECONFIG="/etc/kubernetes/admin.conf")
    limit = LIMIT * int(os.environ.get("TIMEOUT_FACTOR") or 1)
    command = ["kubectl", "--request-timeout=%ds" % limit, *words]
    return subprocess.run(
        command,
        input=text,
        env=environment,
        universal_newlines=True,
        timeout=limit + 10,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def require_success(process):
    if process.returncode:
        sys.exit(process.stderr.strip() or "kubectl ended with %d" % process.returncode)
    return process.stdout


def read_node(node):
    found = json.loads(require_success(run_kubectl("get", "node", node["name"], "-o", "json")))
    if found["metadata"]["uid"] != node["uid"]:
        sys.exit("node %s was made anew meanwhile: begin again" % node["name"])
    return found


def apply_labels(node):
    before = read_node(node)["metadata"]["resourceVersion"]
    words = ("apply", "--server-side", "--field-manager", MANAGER, "-f", "-", "-o", "json")
    applied = json.loads(require_success(run_kubectl(*words, text=json.dumps(node["object"]))))
    if applied["metadata"]["resourceVersion"] != before:
        print("changed: labels of %s" % node["name"])


def split(taint):
    return taint["key"], taint.get("value", ""), taint["effect"]


def merge_taints(node, taints, earlier_record):
    """Return the taints without those to be removed and with those to be added, and the record of gpustack's. One that
    somebody else has set meanwhile is not gpustack's; exit where it has another value."""
    removed = {split(taint) for taint in node["removed_taints"]}
    kept = [taint for taint in taints if split(taint) not in removed]
    others = {split(taint)[::2]: split(taint) for taint in kept}
    taken = []
    for taint in node["added_taints"]:
        other = others.get(split(taint)[::2])
        if other and other != split(taint):
            sys.exit("node %s has another taint %s:%s meanwhile" % (node["name"], taint["key"], taint["effect"]))
        if other:
            taken.append(taint)
    added = [taint for taint in node["added_taints"] if taint not in taken]
    texts = [format_taint(taint) for taint in node["recorded_taints"] if taint not in taken]
    texts += [text for text in map(format_taint, taken) if text in earlier_record]
    return kept + added, json.dumps(sorted(texts)) if texts else None


def format_taint(taint):
    key, value, effect = split(taint)
    return key + ("=" + value if value else "") + ":" + effect


def write_taints(node):
    for attempt in range(ATTEMPTS):
        found = read_node(node)
        metadata, taints = found["metadata"], found["spec"].get("taints", [])
        earlier_record = metadata.get("annotations", {}).get(RECORD)
        merged, record = merge_taints(node, taints, earlier_record or "")
        if merged == taints and earlier_record == record:
            return
        patch = {
            "metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": {RECORD: record}},
            "spec": {"taints": merged or None},
        }
        words = ("patch", "node", node["name"], "--type=merge", "--field-manager", MANAGER, "-p", json.dumps(patch))
        process = run_kubectl(*words)
        if CONFLICT not in process.stderr or attempt == ATTEMPTS - 1:
            require_success(process)
            print("changed: taints of %s" % node["name"])
            return


for each in json.load(sys.stdin):
    if each["object"]:
        apply_labels(each)
    if each["added_taints"] or each["removed_taints"]:
        write_taints(each)
