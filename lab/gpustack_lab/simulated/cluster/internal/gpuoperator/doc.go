// Package gpuoperator is a SIMULATED stand-in for NVIDIA's GPU Operator 26.7: the same object names, labels, order of
// states, conditions and reasons, and the same traps (a ServiceMonitor that it deletes, "ready" without any GPU, no
// toleration of the control plane). The operands that it deploys are the real programs where they can be compiled
// (device plugin, feature discovery, container toolkit) and simulated ones otherwise.
//
// Behaviour follows NVIDIA/gpu-operator at tag v26.7.0: controllers/clusterpolicy_controller.go, state_manager.go,
// object_controls.go and internal/conditions. Not simulated: driver containers, MIG, sandbox workloads, OpenShift,
// driver upgrades, DRA (the GPUCluster resource).
package gpuoperator
