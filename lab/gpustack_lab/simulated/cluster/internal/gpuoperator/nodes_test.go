package gpuoperator

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var createOptions = metav1.CreateOptions{}

const pci = nfdPrefix + "pci-10de.present"

func TestWantedLabels(t *testing.T) {
	var policy Spec
	policy.MIGManager.Config.Default = "all-disabled"
	all := map[string]any{presentLabel: "true"}
	for _, label := range deployLabels {
		all[label] = "true"
	}
	without := func(from map[string]any, gone ...string) map[string]any {
		left := map[string]any{}
		for key, value := range from {
			left[key] = value
		}
		for _, key := range gone {
			delete(left, key)
		}
		return left
	}
	plugin := "nvidia.com/gpu.deploy.device-plugin"
	for name, one := range map[string]struct {
		labels map[string]string
		want   map[string]any
	}{
		"no GPU":               {map[string]string{nfdPrefix + "x": "y"}, map[string]any{}},
		"found":                {map[string]string{pci: "true"}, all},
		"operands off":         {map[string]string{pci: "true", operandsLabel: "false", plugin: "true"}, map[string]any{presentLabel: "true", plugin: nil}},
		"one off":              {map[string]string{pci: "true", plugin: "false"}, without(all, plugin)},
		"GPU gone":             {map[string]string{presentLabel: "true", plugin: "true"}, map[string]any{presentLabel: "false", plugin: nil}},
		"not the operator's":   {map[string]string{plugin: "true"}, map[string]any{}},
		"another vendor":       {map[string]string{nfdPrefix + "pci-1002.present": "true"}, map[string]any{}},
		"product without MIG":  {map[string]string{pci: "true", "nvidia.com/gpu.product": "Tesla-T4"}, all},
		"MIG denied by device": {map[string]string{pci: "true", "nvidia.com/gpu.product": "NVIDIA-H100", "nvidia.com/mig.capable": "false"}, all},
	} {
		if got := wantedLabels(one.labels, policy); !reflect.DeepEqual(got, one.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	capable := wantedLabels(map[string]string{pci: "true", "nvidia.com/mig.capable": "true"}, policy)
	if capable[migManager] != "true" || capable[migConfig] != "all-disabled" {
		t.Error(capable)
	}
}

func TestNodesThatWakeTheOperator(t *testing.T) {
	make := func(labels map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: node("n", labels)}
	}
	labelled := make(map[string]any{pci: "true", presentLabel: "true"})
	for name, one := range map[string]struct {
		before, now *unstructured.Unstructured
		want        bool
	}{
		"new node without GPU": {nil, make(nil), false},
		"GPU found":            {make(nil), make(map[string]any{pci: "true"}), true},
		"nothing new":          {labelled, labelled, false},
		"GPU gone":             {labelled, make(map[string]any{presentLabel: "true"}), true},
		"operands off":         {labelled, make(map[string]any{pci: "true", presentLabel: "true", operandsLabel: "false"}), true},
		"node gone":            {labelled, nil, false},
	} {
		if got := nodeMatters(one.before, one.now); got != one.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
