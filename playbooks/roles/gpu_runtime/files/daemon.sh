#!/bin/sh
# Says `restart: …` when containerd must be started anew, because it runs without the runtime nvidia.
set -eu
systemctl -q is-active containerd || { echo "restart: containerd does not run"; exit 0; }
settings=$(crictl --runtime-endpoint unix:///run/containerd/containerd.sock info | tr -d '[:space:]')
case $settings in
  *'"BinaryName":"/usr/bin/nvidia-container-runtime"'*) ;;
  *) echo "restart: the running containerd has no runtime nvidia" ;;
esac
