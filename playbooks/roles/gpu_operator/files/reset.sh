# shellcheck shell=sh
# Removes what the operands of NVIDIA's operator leave on a host. Drivers are not theirs here, and stay.
# Follows remove-agreed.sh. containerd is restarted by its own reset, or goes on without a runtime that nobody asks for.
set -eu
drop /etc/containerd/conf.d/99-nvidia.toml /usr/local/nvidia/toolkit /run/nvidia/validations /run/nvidia/toolkit
drop /var/run/cdi/management.nvidia.com-gpu.yaml /var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json
drop_empty /usr/local/nvidia
drop_empty /run/nvidia
