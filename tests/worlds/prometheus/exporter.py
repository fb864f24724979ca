"""An exporter of many GPUs, eight to a node, for times.

    python -m tests.worlds.prometheus.exporter PORT GPUS

serves it on loopback.
"""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from gpustack.gpus.activity import FIELDS as ACTIVITY
from gpustack.gpus.fleet import FIELDS as FLEET
from gpustack.vocabulary.fields import find_fields

VALUES = {"FB_TOTAL": 81559, "ECC_CURRENT": 1, "PCIE_LINK_GEN": 5, "PCIE_LINK_WIDTH": 16, "GPU_TEMP": 40}
VALUES |= {"PCIE_MAX_LINK_GEN": 5, "PCIE_MAX_LINK_WIDTH": 16, "POWER_USAGE": 640, "ENFORCED_POWER_LIMIT": 700}


def render_exposition(gpus: int) -> str:
    """Render each field of `gpu list` and `gpu top`; half of the GPUs have a pod."""
    lines = []
    for name in dict.fromkeys((*FLEET, *ACTIVITY)):
        (field, *_) = find_fields(name)
        lines.append(
            f"# HELP {name} {field.meaning}\n# TYPE {name} {'counter' if field.kind == 'counter' else 'gauge'}"
        )
        value = VALUES.get(name.removeprefix("DCGM_FI_DEV_"), 0.5 if "PROF" in name else 0)
        lines += [f"{name}{{{render_labels(number)}}} {value}" for number in range(gpus)]
    return "\n".join([*lines, ""])


def render_labels(number: int) -> str:
    node, index = divmod(number, 8)
    pod = f',exported_namespace="team-a",exported_pod="train-{node}"' if node % 2 else ""
    return (
        f'gpu="{index}",UUID="GPU-{number:08}",pci_bus_id="00000000:{index:02X}:00.0",device="nvidia{index}",'
        f'modelName="NVIDIA H100 80GB HBM3",Hostname="gpu{node}",DCGM_FI_DRIVER_VERSION="595.91.07"{pod}'
    )


def serve(port: int, gpus: int) -> None:
    content = render_exposition(gpus).encode()

    class Exporter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    HTTPServer(("127.0.0.1", port), Exporter).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
