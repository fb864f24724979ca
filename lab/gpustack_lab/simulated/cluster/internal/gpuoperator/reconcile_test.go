package gpuoperator

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"
)

func (c cluster) reconcile() time.Duration {
	c.t.Helper()
	again, err := c.Reconcile(context.Background(), policyName)
	if err != nil {
		c.t.Fatal(err)
	}
	return again
}

func (c cluster) expect(state, ready, error, reason string) {
	c.t.Helper()
	held := "Ready"
	if ready != "True" {
		held = "Error"
	}
	readyStatus, _ := c.condition("Ready")
	errorStatus, _ := c.condition("Error")
	_, told := c.condition(held)
	if c.state() != state || readyStatus != ready || errorStatus != error || told != reason {
		c.t.Errorf("state %s, Ready %s, Error %s, reason %s", c.state(), readyStatus, errorStatus, told)
	}
}

func TestReadyWithoutAnyLabel(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), node("n1", nil))
	if again := c.reconcile(); again != 45*time.Second {
		t.Errorf("again after %s", again)
	}
	c.expect("ready", "True", "False", "NFDLabelsMissing")
	if c.get("DaemonSet", "nvidia-device-plugin-daemonset") != nil {
		t.Error("a DaemonSet without any GPU node")
	}
}

func TestReadyWithoutAnyGPU(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), node("n1", map[string]any{nfdPrefix + "cpu-cpuid.AVX": "true"}))
	if again := c.reconcile(); again != 0 {
		t.Errorf("again after %s", again)
	}
	c.expect("ready", "True", "False", "NoGPUNodes")
}

func TestReadyWhereNoPodIsWanted(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	c.pods("nvidia-device-plugin-daemonset", 0, 0) // a taint that nothing tolerates
	if again := c.reconcile(); again != 0 {
		t.Errorf("again after %s", again)
	}
	c.expect("ready", "True", "False", "Reconciled")
}

func TestNotReadyWhileAPodIsUnavailable(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	c.pods("nvidia-device-plugin-daemonset", 1, 1)
	if again := c.reconcile(); again != 5*time.Second {
		t.Errorf("again after %s", again)
	}
	c.expect("notReady", "False", "True", "OperandNotReady")
	c.pods("nvidia-device-plugin-daemonset", 1, 0)
	if again := c.reconcile(); again != 0 {
		t.Errorf("again after %s", again)
	}
	c.expect("ready", "True", "False", "Reconciled")
}

func TestFailed(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.api.PrependReactor("create", "daemonsets", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("quota")
	})
	if _, err := c.Reconcile(context.Background(), policyName); err == nil {
		t.Fatal("no error")
	}
	c.expect("notReady", "False", "True", "ReconcileFailed")
}

func TestSecondPolicyIsIgnored(t *testing.T) {
	second := policy(spec(nil))
	second["metadata"] = map[string]any{"name": "other"}
	c := newCluster(t, policy(spec(nil)), second)
	c.reconcile()
	if _, err := c.Reconcile(context.Background(), "other"); err != nil {
		t.Fatal(err)
	}
	state := c.get("ClusterPolicy", "other").Object["status"].(map[string]any)["state"]
	if state != "ignored" {
		t.Errorf("state %v", state)
	}
}

func TestStatesInTheRealOrder(t *testing.T) {
	want := []string{
		"pre-requisites", "state-operator-metrics", "state-driver", "state-container-toolkit", "state-operator-validation",
		"state-device-plugin", "state-mps-control-daemon", "state-dcgm", "state-dcgm-exporter", "gpu-feature-discovery",
		"state-mig-manager", "state-node-status-exporter",
	}
	var got []string
	for _, state := range States {
		got = append(got, state.Name)
	}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
	c := newCluster(t, policy(map[string]any{"dcgm": map[string]any{"enabled": true}, "nodeStatusExporter": map[string]any{"enabled": true}}), gpuNode())
	c.reconcile()
	var sets []string
	for _, action := range c.api.Actions() {
		if create, ok := action.(kubetesting.CreateAction); ok && action.GetResource().Resource == "daemonsets" {
			sets = append(sets, create.GetObject().(interface{ GetName() string }).GetName())
		}
	}
	if !slices.Equal(sets, []string{
		"nvidia-driver-daemonset", "nvidia-container-toolkit-daemonset", "nvidia-operator-validator",
		"nvidia-device-plugin-daemonset", "nvidia-device-plugin-mps-control-daemon", "nvidia-dcgm", "nvidia-dcgm-exporter",
		"gpu-feature-discovery", "nvidia-mig-manager", "nvidia-node-status-exporter",
	}) {
		t.Error(sets)
	}
}

func TestNothingIsWrittenTwice(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	c.api.ClearActions()
	c.reconcile()
	for _, action := range c.api.Actions() {
		changes := action.GetVerb() != "get" && action.GetVerb() != "list" && action.GetVerb() != "delete"
		if resource := action.GetResource().Resource; changes && (resource == "daemonsets" || resource == "nodes" || resource == "clusterpolicies") {
			t.Errorf("%s %s", action.GetVerb(), resource)
		}
	}
}

func TestDisabledOperandsAreDeleted(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	for _, name := range []string{"gpu-feature-discovery", "nvidia-mig-manager"} {
		if c.get("DaemonSet", name) == nil {
			t.Fatalf("no %s", name)
		}
	}
	change := c.get("ClusterPolicy", policyName)
	change.Object["spec"] = spec(map[string]any{"gfd": map[string]any{"enabled": false}})
	client, _ := c.at("ClusterPolicy")
	if _, err := client.Update(context.Background(), change, updateOptions); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	if c.get("DaemonSet", "gpu-feature-discovery") != nil || c.get("DaemonSet", "nvidia-mig-manager") == nil {
		t.Error("the wrong DaemonSets are there")
	}
}
