"""Sections of the cluster spec about what watches the cluster: storage, monitoring, dashboards, alerts."""

from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.section import Section

Name = Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,24}[a-z0-9])?$")]
Duration = Annotated[str, Field(pattern=r"^[1-9][0-9]*(s|m|h|d|w|y)$")]
Quantity = Annotated[str, Field(pattern=r"^[1-9][0-9]*(Mi|Gi|Ti)$")]


class Storage(Section):
    provisioner: Annotated[
        Literal["local-path", "none"],
        Field(description="what makes volumes where the cluster has no default StorageClass and one is needed"),
    ] = "local-path"
    path: Annotated[
        str, Field(pattern=r"^/[A-Za-z0-9._/-]+$", description="folder of the hosts in which local-path keeps volumes")
    ] = "/opt/local-path-provisioner"


class Persistence(Section):
    """Without it the history is lost when the pod moves."""

    enabled: Annotated[bool, Field(description="Prometheus and Alertmanager keep their data on volumes")] = False
    size: Annotated[Quantity, Field(description="of Prometheus' volume, as 20Gi")] = "20Gi"
    storage_class: Annotated[
        str, Field(pattern=r"^[a-z0-9.-]*$", description="StorageClass; default: that of the cluster")
    ] = ""


class Access(Section):
    """How people reach Grafana from outside the cluster; `gpustack access` needs none of it."""

    type: Annotated[
        Literal["none", "node-port", "ingress"], Field(description="how Grafana is reached from outside the cluster")
    ] = "none"
    node_port: Annotated[int, Field(ge=30000, le=32767, description="with node-port: which one")] = 30300
    host: Annotated[str, Field(pattern=r"^[a-z0-9.-]*$", description="with ingress: the name that people type")] = ""
    ingress_class: Annotated[
        str, Field(pattern=r"^[a-z0-9.-]*$", description="with ingress: its class; default: that of the cluster")
    ] = ""


class Monitoring(Section):
    enabled: Annotated[bool, Field(description="whether the cluster is monitored by us")] = True
    namespace: Annotated[Name, Field(description="where it lives")] = "monitoring"
    release: Annotated[Name, Field(description="name of its Helm release, with which its objects begin")] = "monitoring"
    retention: Annotated[Duration, Field(description="how long Prometheus keeps what it measured, as 10d")] = "10d"
    retention_size: Annotated[
        str, Field(pattern=r"^([1-9][0-9]*(MB|GB|TB))?$", description="how much at most, as 15GB; default: no limit")
    ] = ""
    scrape_interval: Annotated[Duration, Field(description="how often Prometheus asks, as 30s")] = "30s"
    memory: Annotated[Quantity, Field(description="memory that Prometheus asks for, as 400Mi")] = "400Mi"
    node_exporter_port: Annotated[
        int, Field(ge=1024, le=29999, description="of every host; another one where 9100 is taken")
    ] = 9100
    persistence: Annotated[Persistence, Field(description="whether history outlives a pod")] = Persistence()
    access: Annotated[Access, Field(description="Grafana from outside the cluster")] = Access()


class Dashboards(Section):
    enabled: Annotated[bool, Field(description="whether Grafana shows our dashboards")] = True
    folder: Annotated[str, Field(min_length=1, max_length=60, description="Grafana's folder for them")] = "GPU"


class Receiver(Section):
    """Who gets alerts. The secret part of an address is a file on this machine, mode 0600, never a value here."""

    type: Annotated[
        Literal["none", "webhook", "slack", "email", "pagerduty"], Field(description="how alerts reach a human")
    ] = "none"
    secret_file: Annotated[
        str | None,
        Field(
            description="a file, such as ~/alerts-webhook-url, with the webhook's or Slack's URL, PagerDuty's key, or "
            "the mail server's password",
        ),
    ] = None
    channel: Annotated[str, Field(description="with slack, the channel, as #gpus")] = ""
    to: Annotated[str, Field(description="with email, who gets it")] = ""
    sender: Annotated[str, Field(description="with email, from whom it is")] = ""
    smarthost: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9.-]+:[0-9]{1,5})?$", description="with email, mail server as name:port")
    ] = ""
    user: Annotated[str, Field(description="with email, login at the mail server; default: none")] = ""


class Alerts(Section):
    enabled: Annotated[bool, Field(description="whether our rules are in force")] = True
    receiver: Annotated[Receiver, Field(description="the one who gets all alerts but Watchdog")] = Receiver()
    runbooks: Annotated[
        str,
        Field(
            pattern=r"^(https?://\S+)?$",
            description="your page about alerts, #name is added; default: NVIDIA's own pages",
        ),
    ] = ""
