package gpuoperator

import (
	"context"
	"io"
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

const policyName = "cluster-policy"

// cluster is an operator on a fake API.
type cluster struct {
	*Operator
	api *fake.FakeDynamicClient
	t   *testing.T
}

func newCluster(t *testing.T, objects ...map[string]any) cluster {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{}
	for kind, known := range resources {
		kinds[known.gvr] = kind + "List"
	}
	var there []runtime.Object
	for _, object := range objects {
		there = append(there, &unstructured.Unstructured{Object: object})
	}
	api := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, there...)
	return cluster{New(api, "gpu-operator", slog.New(slog.NewTextHandler(io.Discard, nil))), api, t}
}

func policy(spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy",
		"metadata": map[string]any{"name": policyName, "uid": "u"},
		"spec":     spec,
	}
}

func node(name string, labels map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "labels": labels}}
}

func gpuNode() map[string]any {
	return node("g1", map[string]any{nfdPrefix + "pci-10de.present": "true"})
}

func crd() map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": monitorCRD},
	}
}

func monitor(owner string) map[string]any {
	return map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
		"metadata": map[string]any{"name": "nvidia-dcgm-exporter", "namespace": "gpu-operator", "labels": map[string]any{"by": owner}},
	}
}

// spec is a policy's spec with the host's driver.
func spec(more map[string]any) map[string]any {
	all := map[string]any{"driver": map[string]any{"enabled": false}}
	for key, value := range more {
		all[key] = value
	}
	return all
}

func (c cluster) get(kind, name string) *unstructured.Unstructured {
	c.t.Helper()
	client, err := c.at(kind)
	if err != nil {
		c.t.Fatal(err)
	}
	object, err := client.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return object
}

// ready makes the DaemonSet controller's answer: all wanted pods available, or not.
func (c cluster) pods(name string, desired, unavailable int64) {
	c.t.Helper()
	set := c.get("DaemonSet", name)
	_ = unstructured.SetNestedMap(set.Object, map[string]any{"desiredNumberScheduled": desired, "numberUnavailable": unavailable}, "status")
	client, _ := c.at("DaemonSet")
	if _, err := client.Update(context.Background(), set, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// condition is the status and the reason of one condition of the policy.
func (c cluster) condition(kind string) (string, string) {
	c.t.Helper()
	all, _, _ := unstructured.NestedSlice(c.get("ClusterPolicy", policyName).Object, "status", "conditions")
	for _, one := range all {
		if one.(map[string]any)["type"] == kind {
			return one.(map[string]any)["status"].(string), one.(map[string]any)["reason"].(string)
		}
	}
	return "", ""
}

func (c cluster) state() string {
	state, _, _ := unstructured.NestedString(c.get("ClusterPolicy", policyName).Object, "status", "state")
	return state
}
