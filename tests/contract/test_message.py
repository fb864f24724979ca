"""The text that `alerts test` shows is the one that a receiver of the pinned Alertmanager gets."""

import json
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpustack.events import ignore_event
from gpustack.proof.delivery import Delivery, Trial
from gpustack.proof.http import NoAnswer
from gpustack.proof.message import RENDER, WEBHOOK
from tests.contract.alertmanager import build_configuration, run_alertmanager
from tests.contract.promtool import find_program
from tests.lab.webhook import Webhook, run_webhook

RECEIVERS = [{"type": kind, "secret_file": "/s"} for kind in ("webhook", "msteams")]
KUBECTL = """#!/bin/sh
# Lists one pod, and executes what is after -- here.
case "$*" in *" get pods "*) echo "$POD"; exit ;; esac
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


class ScriptAmtool:
    """Run the script that a control plane runs, with a kubectl that executes here."""

    def __init__(self, folder: Path, pod: str = "pod/alertmanager-0") -> None:
        self.folder, self.pod = folder, pod
        (folder / "kubectl").write_text(KUBECTL)
        (folder / "kubectl").chmod(0o755)
        shutil.copy(find_program("amtool", "alertmanager"), folder / "amtool")

    def render_template(self, template: str, globs: Sequence[str], notification: Mapping[str, Any]) -> str:
        environment = os.environ | {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "POD": self.pod,
            "NAMESPACE": "monitoring",
            "TEXT": template,
            "GLOBS": " ".join(f"--template.glob={pattern}" for pattern in globs),
            "DATA": b64encode(json.dumps(notification).encode()).decode(),
        }
        process = subprocess.run(["sh", "-c", RENDER], env=environment, capture_output=True, text=True, check=False)
        if process.returncode:
            raise NoAnswer(process.stderr.strip())
        return process.stdout


def send_alert(folder: Path, hook: Webhook, amtool: ScriptAmtool) -> Delivery:
    for receiver in RECEIVERS:
        (folder / f"default-{receiver['type']}").write_text(hook.url)
    with run_alertmanager(folder, build_configuration({"default": RECEIVERS}, folder)) as alertmanager:
        trial = Trial(alertmanager, ignore_event, lambda: "", "demo", "warning", limit=60, amtool=amtool)
        return trial.run_test()


def test_the_text_is_what_the_receiver_got(tmp_path: Path) -> None:
    with run_webhook(port=0) as hook:
        delivery = send_alert(tmp_path, hook, ScriptAmtool(tmp_path))
        (card,) = (body["attachments"][0]["content"]["body"] for body in hook.bodies if "attachments" in body)
    messages = {arrival.integration: arrival.message for arrival in delivery.arrivals}
    assert delivery.outcome == "delivered"
    assert messages["msteamsv2"].text == f"{card[0]['text']}\n{card[1]['text'].strip()}"
    assert "gpustack explain alerts-not-delivered" in messages["msteamsv2"].text
    assert (messages["webhook"].text, messages["webhook"].reason) == ("", WEBHOOK)


def test_without_a_pod_the_text_is_unknown(tmp_path: Path) -> None:
    """The alert is delivered nevertheless."""
    with run_webhook(port=0) as hook:
        delivery = send_alert(tmp_path, hook, ScriptAmtool(tmp_path, pod=""))
    (message,) = (arrival.message for arrival in delivery.arrivals if arrival.integration == "msteamsv2")
    assert delivery.outcome == "delivered"
    assert (message.text, message.reason) == ("", "no pod of Alertmanager in the namespace monitoring")
