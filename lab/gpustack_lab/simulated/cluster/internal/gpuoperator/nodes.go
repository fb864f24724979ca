package gpuoperator

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	presentLabel  = "nvidia.com/gpu.present"
	operandsLabel = "nvidia.com/gpu.deploy.operands"
	migManager    = "nvidia.com/gpu.deploy.mig-manager"
	migConfig     = "nvidia.com/mig.config"
	nfdPrefix     = "feature.node.kubernetes.io/"
	upgradeNote   = "nvidia.com/gpu-driver-upgrade-enabled"
)

// deployLabels admit the operands of containers; a value that an operator of the cluster set is kept.
var deployLabels = []string{
	"nvidia.com/gpu.deploy.driver",
	"nvidia.com/gpu.deploy.gpu-feature-discovery",
	"nvidia.com/gpu.deploy.container-toolkit",
	"nvidia.com/gpu.deploy.device-plugin",
	"nvidia.com/gpu.deploy.dcgm",
	"nvidia.com/gpu.deploy.dcgm-exporter",
	"nvidia.com/gpu.deploy.node-status-exporter",
	"nvidia.com/gpu.deploy.operator-validator",
}

// Fleet is what the nodes' labels say.
type Fleet struct {
	GPUNodes int
	NFD      bool   // any node carries a label of node feature discovery
	OS       string // ID and VERSION_ID of the first GPU node ("ubuntu24.04"), "" without one
	Runtime  string // containerd, cri-o, docker
}

// hasGPU says whether node feature discovery saw a PCI device of the vendor 10de.
func hasGPU(labels map[string]string) bool {
	for _, label := range []string{"pci-10de.present", "pci-0302_10de.present", "pci-0300_10de.present"} {
		if labels[nfdPrefix+label] == "true" {
			return true
		}
	}
	return false
}

func hasNFD(labels map[string]string) bool {
	for label := range labels {
		if strings.HasPrefix(label, nfdPrefix) {
			return true
		}
	}
	return false
}

func migCapable(labels map[string]string) bool {
	if value, ok := labels["nvidia.com/mig.capable"]; ok {
		return value == "true"
	}
	product := strings.ToLower(labels["nvidia.com/gpu.product"])
	return slices.ContainsFunc([]string{"h100", "a100", "a30"}, func(name string) bool { return strings.Contains(product, name) })
}

// wantedLabels says how the node's labels have to change: a value to set, nil to remove.
func wantedLabels(labels map[string]string, spec Spec) map[string]any {
	change := map[string]any{}
	if !hasGPU(labels) {
		if labels[presentLabel] == "true" {
			change[presentLabel] = "false"
		}
		for _, label := range slices.Concat(deployLabels, []string{migManager}) {
			if _, ok := labels[label]; ok && labels[presentLabel] != "" {
				change[label] = nil
			}
		}
		return change
	}
	if labels[presentLabel] != "true" {
		change[presentLabel] = "true"
	}
	if labels[operandsLabel] == "false" {
		for _, label := range slices.Concat(deployLabels, []string{migManager}) {
			if _, ok := labels[label]; ok {
				change[label] = nil
			}
		}
		return change
	}
	wanted := deployLabels
	if migCapable(labels) {
		wanted = append(slices.Clone(wanted), migManager)
		if On(spec.MIGManager.Enabled, true) && labels[migConfig] == "" && spec.MIGManager.Config.Default != "" {
			change[migConfig] = spec.MIGManager.Config.Default
		}
	}
	for _, label := range wanted {
		if _, ok := labels[label]; !ok {
			change[label] = "true"
		}
	}
	return change
}

// wantedNote says how the annotation of automatic driver upgrades has to change, "" where it is right.
func wantedNote(notes map[string]string, gpu bool, spec Spec) map[string]any {
	_, there := notes[upgradeNote]
	switch wanted := gpu && spec.Driver.UpgradePolicy.AutoUpgrade; {
	case wanted && notes[upgradeNote] != "true":
		return map[string]any{upgradeNote: "true"}
	case !wanted && there:
		return map[string]any{upgradeNote: nil}
	}
	return nil
}

// labelNodes labels the GPU nodes and counts them.
func (o *Operator) labelNodes(ctx context.Context, spec Spec) (Fleet, error) {
	fleet := Fleet{Runtime: "containerd"}
	nodes, err := o.api.Resource(resources["Node"].gvr).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fleet, err
	}
	for _, node := range nodes.Items {
		labels := node.GetLabels()
		fleet.NFD = fleet.NFD || hasNFD(labels)
		gpu := hasGPU(labels)
		if gpu {
			fleet.GPUNodes++
			if fleet.OS == "" {
				fleet.OS = labels[nfdPrefix+"system-os_release.ID"] + labels[nfdPrefix+"system-os_release.VERSION_ID"]
			}
		}
		change := map[string]any{}
		if labels := wantedLabels(labels, spec); len(labels) > 0 {
			change["labels"] = labels
		}
		if notes := wantedNote(node.GetAnnotations(), gpu, spec); len(notes) > 0 {
			change["annotations"] = notes
		}
		if len(change) == 0 {
			continue
		}
		patch, err := json.Marshal(map[string]any{"metadata": change})
		if err != nil {
			return fleet, err
		}
		o.log.Info("labelling node", "node", node.GetName(), "patch", string(patch))
		_, err = o.api.Resource(resources["Node"].gvr).Patch(ctx, node.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fleet, err
		}
	}
	return fleet, nil
}
