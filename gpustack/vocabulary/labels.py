"""The labels by which a series of an exporter names its GPU, its node, and the pod that has the GPU.

The recording rules and the reader of series take them from here. Sources: internal/pkg/{transformation,hostname} of
NVIDIA/dcgm-exporter; Prometheus, scrape_config: honor_labels.
"""

import re

HOSTS = ("Hostname", "hostname")
"""The exporter's host label, to 4.8.2 and since."""
UUIDS = ("UUID", "uuid")
"""The second is of the exporter's mode for old name spaces."""
DRIVERS = ("DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION")
"""The second since exporter 4.9.0."""
WORKLOAD_PREFIX = "exported_"
"""Prometheus puts this before the workload's `namespace`, `pod` and `container` where it does not honour the labels of
the exporter: the target's own have these names."""
TARGET = ("job", "instance", "namespace", "pod")
"""The labels that a series shares with `up` of its target where its pod is the exporter's own."""
HEARD_OF = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_FB_USED")
"""A GPU of which an exporter tells anything has one of these: the guest of a vGPU has no temperature
(tests/recorded/exporter-pages/vgpu-guest-a100-10c.prom)."""
SCRAPE_TIME = " or ".join(f"timestamp({name})" for name in HEARD_OF)
"""When a GPU was heard of. `timestamp` has the time of the scrape only of a plain selector."""
SHARE = "vgpu"
"""The number of a pod's share of a GPU, where the exporter runs with --kubernetes-virtual-gpus. Such a series repeats
the value of the GPU, but for utilisation and memory in use, which since exporter 4.8.2 are of the pod's own processes
(internal/pkg/transformation/process_metrics.go)."""
EXPORTER = "dcgm-exporter"
"""A part of the names of the exporter's own pod and container, whoever deploys it."""
NO_NODE_NAME = re.compile(rf"localhost(\..*)?|127\..*|::1|[0-9a-f]{{12}}|.*{EXPORTER}.*")
"""Values of the host label that name no node. getLocalHostname() of dcgm-exporter takes NODE_NAME, and without it the
host's name that it sees, which is its own pod's, or its container's id."""
