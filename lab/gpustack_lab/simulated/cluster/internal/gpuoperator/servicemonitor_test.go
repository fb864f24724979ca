package gpuoperator

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func exporter(monitor map[string]any) map[string]any {
	return spec(map[string]any{"dcgmExporter": map[string]any{"serviceMonitor": monitor}})
}

func TestSwitchedOffItDeletesAForeignServiceMonitorAgainAndAgain(t *testing.T) {
	c := newCluster(t, policy(exporter(map[string]any{"enabled": false})), gpuNode(), crd(), monitor("somebody"))
	for range 2 {
		c.reconcile()
		if c.get("ServiceMonitor", "nvidia-dcgm-exporter") != nil {
			t.Fatal("still there")
		}
		again := &unstructured.Unstructured{Object: monitor("somebody")}
		client, _ := c.at("ServiceMonitor")
		if _, err := client.Create(t.Context(), again, createOptions); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSwitchedOnItOverwritesAForeignServiceMonitor(t *testing.T) {
	said := map[string]any{"enabled": true, "interval": "7s", "additionalLabels": map[string]any{"release": "monitoring"}}
	c := newCluster(t, policy(exporter(said)), gpuNode(), crd(), monitor("somebody"))
	c.reconcile()
	found := c.get("ServiceMonitor", "nvidia-dcgm-exporter")
	if found.GetLabels()["by"] != "" || found.GetLabels()["release"] != "monitoring" || len(found.GetOwnerReferences()) != 1 {
		t.Error(found.GetLabels(), found.GetOwnerReferences())
	}
	endpoints, _, _ := unstructured.NestedSlice(found.Object, "spec", "endpoints")
	endpoint := endpoints[0].(map[string]any)
	if endpoint["interval"] != "7s" || endpoint["port"] != "gpu-metrics" {
		t.Error(endpoint)
	}
}

func TestWithoutTheCRDNothingIsSaid(t *testing.T) {
	c := newCluster(t, policy(exporter(map[string]any{"enabled": true})), gpuNode())
	if again := c.reconcile(); again != 0 {
		t.Errorf("again after %s", again)
	}
	c.expect("ready", "True", "False", "Reconciled")
	if c.get("ServiceMonitor", "nvidia-dcgm-exporter") != nil {
		t.Error("created without its CRD")
	}
}

func TestServiceOfTheExporter(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	service := c.get("Service", "nvidia-dcgm-exporter")
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	port := ports[0].(map[string]any)
	if port["name"] != "gpu-metrics" || port["port"] != int64(9400) {
		t.Error(port)
	}
	if service.GetLabels()["app"] != "nvidia-dcgm-exporter" || service.GetAnnotations()["prometheus.io/scrape"] != "true" {
		t.Error(service.GetLabels(), service.GetAnnotations())
	}
}
