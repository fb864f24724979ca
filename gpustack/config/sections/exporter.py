"""Section of the cluster spec about dcgm-exporter: its counters, their users, and how Prometheus scrapes it.

Variables, defaults and grammars of the exporter: NVIDIA/dcgm-exporter 4.5.3-4.8.2 pkg/cmd/app.go (NewApp,
parseDeviceOptions). That of the pinned 4.8.3 was not public; the operator's v26.7.0 controllers/object_controls.go
(TransformDCGMExporter) sets the same names for it.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpustack.config.addresses import validate_port
from gpustack.config.form import Form
from gpustack.config.sections.monitoring import Duration, LabelName
from gpustack.config.sections.section import Section

DEFAULT_PORT = 9400  # the exporter's own default, and the port of the operator's Service and probes


NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!)|\\[1-9]")  # Go's expressions have neither look-around nor references


def validate_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"a regular expression ({error})") from None
    if NOT_RE2.search(text):
        raise ValueError("a regular expression of Go's: no look-around, no back references")
    return text


def refuse_comma(text: str) -> str:
    """Refuse a comma, since the exporter takes one text and splits it at commas."""
    if "," in text or not text:
        raise ValueError("a regular expression without a comma")
    return text


Expression = Annotated[str, AfterValidator(validate_expression)]
FieldName = Annotated[str, Form(r"DCGM_(FI|EXP)_[A-Z0-9_]+", "the name of a field of DCGM", "DCGM_FI_DEV_SM_CLOCK")]
Devices = Annotated[
    str,
    Form(r"f|g(:[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?", "f, g, or g with numbers of GPUs after a colon", "g:0,2-3"),
]
ListenAddress = Annotated[
    str,
    Form(r"([0-9]+(\.[0-9]+){3}|\[[0-9a-f:]+\])?:[1-9][0-9]{1,4}", "ADDRESS:PORT, or :PORT alone", f":{DEFAULT_PORT}"),
    AfterValidator(validate_port),
]
Engine = Annotated[
    str, Form(r"localhost:[1-9][0-9]{1,4}", "localhost:PORT", "localhost:5555"), AfterValidator(validate_port)
]


class Relabeling(Section):
    """Describe one of Prometheus' metric_relabel_configs, as the Prometheus operator has it (RelabelConfig)."""

    action: Annotated[
        Literal["replace", "keep", "drop", "labeldrop", "labelkeep"],
        Field(description="action on a series", examples=["replace"]),
    ] = "replace"
    source_labels: Annotated[
        tuple[LabelName, ...], Field(description="labels whose values are joined by ;", examples=["[exported_pod]"])
    ] = ()
    regex: Annotated[Expression, Field(description="the whole value, or name, has to match it", examples=["(.+)"])] = (
        "(.*)"
    )
    target_label: Annotated[LabelName | None, Field(description="label that replace sets", examples=["workload"])] = (
        None
    )
    replacement: Annotated[str, Field(description="value that replace sets", examples=["$1"])] = "$1"

    @model_validator(mode="after")
    def validate_action(self) -> Self:
        """Refuse what Prometheus refuses at its start (model/relabel, Config.Validate), and a keep that would keep
        nothing."""
        if self.action == "replace" and not self.target_label:
            raise ValueError("target_label with action replace, such as {target_label: workload}")
        if self.action in ("keep", "drop") and not self.source_labels:
            raise ValueError(f"source_labels, with action {self.action}")
        if self.action in ("labeldrop", "labelkeep") and (self.source_labels or self.target_label):
            raise ValueError(f"regex alone, with action {self.action}")
        return self


class Metrics(Section):
    interval: Annotated[Duration, Field(description="interval of collection and scraping, such as 15s")] = "15s"
    counters: Annotated[tuple[FieldName, ...], Field(description="additional DCGM fields")] = ()
    leave_out: Annotated[
        tuple[FieldName, ...],
        Field(description="fields of ours that are not exported; panels and alerts on them stay empty"),
    ] = ()
    devices: Annotated[
        Devices,
        Field(
            description="on every host: f (all GPUs, with their MIG instances), g (without), or some, such as g:0,2-3",
        ),
    ] = "f"
    listen: Annotated[
        ListenAddress, Field(description="address and port; the operator's Service and probes know port 9400 only")
    ] = f":{DEFAULT_PORT}"
    engine: Annotated[
        Engine, Field(description="address at which the engine of each host listens with gpu.dcgm: host")
    ] = "localhost:5555"
    pod_labels: Annotated[
        tuple[Annotated[Expression, AfterValidator(refuse_comma)], ...],
        Field(description="labels of pods that become labels of their GPUs' series, as regular expressions"),
    ] = ()
    pod_uid: Annotated[bool, Field(description="the pod's UID as a label: a new series for each pod")] = False
    shared_gpus: Annotated[
        bool, Field(description="copy a GPU's series for each of its pods, with time-slicing or MPS")
    ] = False
    service_monitor: Annotated[Literal["operator", "ours"], Field(description="ServiceMonitor of the exporter")] = (
        "operator"
    )
    relabelings: Annotated[
        tuple[Relabeling, ...], Field(description="metricRelabelings of our ServiceMonitor; the operator's has none")
    ] = ()

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])
