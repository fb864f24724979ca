"""Sections of the cluster spec about storage, monitoring, dashboards and alerts."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpustack.config.form import Form
from gpustack.config.sections.receiver import Receivers
from gpustack.config.sections.section import Section

Name = Annotated[
    str,
    Form(
        r"[a-z]([a-z0-9-]{0,24}[a-z0-9])?",
        "at most 26 small letters, digits and dashes, with a letter first and no dash last",
        "gpu-monitoring",
    ),
]
Duration = Annotated[str, Form(r"[1-9][0-9]*(s|m|h|d|w|y)", "a whole number and one of s, m, h, d, w and y", "30d")]
Quantity = Annotated[str, Form(r"[1-9][0-9]*(Mi|Gi|Ti)", "a whole number and one of Mi, Gi and Ti", "20Gi")]
LabelName = Annotated[str, Form(r"[a-zA-Z_][a-zA-Z0-9_]*", "letters, digits and _, with no digit first", "workload")]
Size = Annotated[str, Form(r"([1-9][0-9]*(MB|GB|TB))?", "a whole number and one of MB, GB and TB", "15GB")]
Directory = Annotated[
    str, Form(r"/[A-Za-z0-9._/-]+", "a path that begins with /, of letters, digits, dots, dashes and _", "/srv/volumes")
]
ClassName = Annotated[str, Form(r"[a-z0-9.-]*", "small letters, digits, dots and dashes", "fast-disks")]
HostName = Annotated[str, Form(r"[a-z0-9.-]*", "a name of DNS in small letters", "grafana.example.com")]
Page = Annotated[
    str, Form(r"(https?://\S+)?", "an address that begins with http:// or https://", "https://wiki.example.com/alerts")
]


class Storage(Section):
    provisioner: Annotated[
        Literal["local-path", "none"],
        Field(description="provisioner of volumes, if one is needed and the cluster has no default StorageClass"),
    ] = "local-path"
    path: Annotated[Directory, Field(description="directory on the hosts for local-path volumes")] = (
        "/opt/local-path-provisioner"
    )


def validate_labels(labels: dict[str, str]) -> dict[str, str]:
    """Refuse labels that Prometheus does not take, or that the Prometheus operator sets itself (externalLabels in its
    Documentation/api-reference/api.md)."""
    reserved_labels = {"cluster", "prometheus", "prometheus_replica"}
    if any(not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in reserved_labels for name in labels):
        raise ValueError(f"names of letters, digits and _, other than {', '.join(sorted(reserved_labels))}")
    return labels


class Persistence(Section):
    """Describe the volumes of the monitoring. Without one the history is lost when the pod restarts."""

    enabled: Annotated[bool, Field(description="keep data of Prometheus and Alertmanager on volumes")] = True
    size: Annotated[Quantity, Field(description="size of Prometheus' volume, such as 20Gi")] = "50Gi"
    storage_class: Annotated[ClassName, Field(description="StorageClass; default: that of the cluster")] = ""
    grafana: Annotated[
        bool, Field(description="keep what people make in Grafana on a volume, too: dashboards, users, alerts, tokens")
    ] = False

    @model_validator(mode="after")
    def validate_grafana(self) -> Self:
        """Refuse a volume of Grafana alone: without `enabled` the cluster may have no StorageClass."""
        if self.grafana and not self.enabled:
            raise ValueError("grafana: true with enabled: true")
        return self


class Access(Section):
    """Describe how people reach Grafana and Prometheus from outside the cluster; `gpustack access` needs none of it."""

    type: Annotated[
        Literal["none", "node-port", "ingress"], Field(description="access to Grafana from outside the cluster")
    ] = "none"
    node_port: Annotated[int, Field(ge=30000, le=32767, description="port of Grafana with node-port")] = 30300
    host: Annotated[HostName, Field(description="host name with ingress")] = ""
    ingress_class: Annotated[ClassName, Field(description="class of the ingress; default: that of the cluster")] = ""
    prometheus_node_port: Annotated[
        int | None,
        Field(
            ge=30000,
            le=32767,
            description="a port of every node for Prometheus, which asks for no login, such as 30900; default: none",
        ),
    ] = None


class Monitoring(Section):
    enabled: Annotated[bool, Field(description="install the monitoring")] = True
    namespace: Annotated[Name, Field(description="namespace of the monitoring")] = "monitoring"
    release: Annotated[Name, Field(description="name of its Helm release and prefix of its objects")] = "monitoring"
    # The forecast reads 90 days, and a bill of last month is asked for on the tenth.
    retention: Annotated[Duration, Field(description="how long Prometheus keeps data, such as 30d")] = "100d"
    retention_size: Annotated[
        Size, Field(description="size limit of the data, such as 15GB; default: 85 % of persistence.size")
    ] = ""
    external_labels: Annotated[
        dict[str, str],
        AfterValidator(validate_labels),
        Field(description="labels of what leaves this Prometheus, such as alerts, beside cluster (cluster_name)"),
    ] = {}  # noqa: RUF012 - pydantic copies it
    scrape_interval: Annotated[Duration, Field(description="scrape interval of Prometheus, such as 30s")] = "30s"
    memory: Annotated[Quantity, Field(description="memory request of Prometheus, such as 400Mi")] = "400Mi"
    node_exporter_port: Annotated[
        int, Field(ge=1024, le=29999, description="port on every host; change it if 9100 is in use")
    ] = 9100
    persistence: Annotated[Persistence, Field(description="whether history survives a pod")] = Persistence()
    access: Annotated[Access, Field(description="access to Grafana and Prometheus")] = Access()


class Dashboards(Section):
    enabled: Annotated[bool, Field(description="install our dashboards")] = True
    folder: Annotated[str, Field(min_length=1, max_length=60, description="their folder in Grafana")] = "GPU"
    files: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(
            description="your own dashboards: JSON files on this machine, also patterns, such as [dashboards/*.json]"
        ),
    ] = ()


def validate_grouping(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a label that is named twice, which Alertmanager refuses as well (Route in its config/config.go)."""
    if len(set(labels)) != len(labels):
        raise ValueError("names of labels, each once")
    return labels


class Alerts(Section):
    enabled: Annotated[bool, Field(description="install our rules")] = True
    group_by: Annotated[
        tuple[LabelName, ...],
        AfterValidator(validate_grouping),
        Field(
            description="labels whose alerts are one notification where their values are the same; add UUID for one of "
            "each GPU; [] is one for all alerts of a severity"
        ),
    ] = ("alertname", "node")
    receivers: Annotated[
        Receivers,
        Field(
            description="who gets alerts, by severity: webhook, slack, msteams, pagerduty or email; docs/monitoring.md"
        ),
    ] = Receivers()
    runbooks: Annotated[
        Page, Field(description="your page about alerts, #name is appended; default: NVIDIA's pages")
    ] = ""
