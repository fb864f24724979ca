package gpuoperator

import (
	"context"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var updateOptions = metav1.UpdateOptions{}

func (c cluster) daemonSet(name string) appsv1.DaemonSet {
	c.t.Helper()
	object := c.get("DaemonSet", name)
	if object == nil {
		c.t.Fatalf("no DaemonSet %s", name)
	}
	var set appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set); err != nil {
		c.t.Fatal(err)
	}
	return set
}

func value(container corev1.Container, name string) string {
	for _, variable := range container.Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}

func TestControlPlanesAreNotTolerated(t *testing.T) {
	taint := corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
	tolerated := func(more map[string]any) bool {
		c := newCluster(t, policy(spec(more)), gpuNode())
		c.reconcile()
		for _, toleration := range c.daemonSet("nvidia-dcgm-exporter").Spec.Template.Spec.Tolerations {
			if toleration.Key == taint.Key {
				return true
			}
		}
		return false
	}
	if tolerated(nil) {
		t.Error("tolerated although the policy does not say so")
	}
	said := map[string]any{"tolerations": []any{map[string]any{"key": taint.Key, "operator": "Exists"}}}
	if !tolerated(map[string]any{"daemonsets": said}) {
		t.Error("not tolerated although the policy says so")
	}
}

func TestWhatAllDaemonSetsHave(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	for name, deploy := range map[string]string{
		"nvidia-container-toolkit-daemonset": "container-toolkit", "nvidia-operator-validator": "operator-validator",
		"nvidia-device-plugin-daemonset": "device-plugin", "nvidia-dcgm-exporter": "dcgm-exporter",
		"gpu-feature-discovery": "gpu-feature-discovery", "nvidia-mig-manager": "mig-manager",
	} {
		set := c.daemonSet(name)
		pod := set.Spec.Template
		if set.Labels["app"] != name || pod.Labels["app"] != name || set.Spec.Selector.MatchLabels["app"] != name {
			t.Errorf("%s: labels", name)
		}
		if pod.Spec.NodeSelector["nvidia.com/gpu.deploy."+deploy] != "true" {
			t.Errorf("%s: %v", name, pod.Spec.NodeSelector)
		}
		if owner := metav1.GetControllerOf(&set); owner == nil || owner.Kind != "ClusterPolicy" || owner.Name != policyName {
			t.Errorf("%s: owner %v", name, owner)
		}
		gpu := pod.Spec.RuntimeClassName != nil && *pod.Spec.RuntimeClassName == "nvidia"
		if gpu != (deploy != "container-toolkit") {
			t.Errorf("%s: runtime class %v", name, pod.Spec.RuntimeClassName)
		}
	}
	if c.get("RuntimeClass", "nvidia") == nil || c.get("RuntimeClass", "nvidia-cdi") == nil {
		t.Error("no RuntimeClass")
	}
}

func TestDevicesByCDI(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	plugin := c.daemonSet("nvidia-device-plugin-daemonset").Spec.Template.Spec
	if got := value(plugin.Containers[0], "DEVICE_LIST_STRATEGY"); got != "cdi-annotations,cdi-cri" || len(plugin.Containers) != 1 {
		t.Error(got, len(plugin.Containers))
	}
	toolkit := c.daemonSet("nvidia-container-toolkit-daemonset").Spec.Template.Spec
	for name, want := range map[string]string{
		"CDI_ENABLED": "true", "NVIDIA_RUNTIME_SET_AS_DEFAULT": "false", "RUNTIME_CONFIG": "/runtime/config-dir/config.toml",
		"RUNTIME_DROP_IN_CONFIG_HOST_PATH": "/etc/containerd/conf.d/99-nvidia.toml", "RUNTIME": "containerd",
	} {
		if got := value(toolkit.Containers[0], name); got != want {
			t.Errorf("%s=%s", name, got)
		}
	}
	if !toolkit.HostPID {
		t.Error("the toolkit cannot signal containerd")
	}
}

func TestToolkitReadsFilesOfTheHost(t *testing.T) {
	for given, want := range map[string]string{
		"file=/etc/containerd/conf.d/gpustack.toml": "file=/host/etc/containerd/conf.d/gpustack.toml",
		"command,file=/a,file":                      "command,file=/host/a,file",
	} {
		env := []any{map[string]any{"name": "RUNTIME_CONFIG_SOURCE", "value": given}}
		c := newCluster(t, policy(spec(map[string]any{"toolkit": map[string]any{"env": env}})), gpuNode())
		c.reconcile()
		container := c.daemonSet("nvidia-container-toolkit-daemonset").Spec.Template.Spec.Containers[0]
		if got := value(container, "RUNTIME_CONFIG_SOURCE"); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
}

func TestSharingByConfigManager(t *testing.T) {
	config := map[string]any{"config": map[string]any{"name": "sharing", "default": "none"}}
	c := newCluster(t, policy(spec(map[string]any{"devicePlugin": config})), gpuNode())
	c.reconcile()
	for name, process := range map[string]string{
		"nvidia-device-plugin-daemonset": "nvidia-device-plugin", "gpu-feature-discovery": "gpu-feature-discovery",
	} {
		pod := c.daemonSet(name).Spec.Template.Spec
		if len(pod.Containers) != 2 || pod.Containers[1].Name != "config-manager" || pod.InitContainers[1].Name != "config-manager-init" {
			t.Fatalf("%s: no config-manager", name)
		}
		manager := pod.Containers[1]
		if value(manager, "PROCESS_TO_SIGNAL") != process || value(manager, "DEFAULT_CONFIG") != "none" || !*pod.ShareProcessNamespace {
			t.Errorf("%s: %v", name, manager.Env)
		}
	}
}

func TestDriverImageOfTheNodesSystem(t *testing.T) {
	labels := maps.Clone(gpuNode()["metadata"].(map[string]any)["labels"].(map[string]any))
	labels[nfdPrefix+"system-os_release.ID"], labels[nfdPrefix+"system-os_release.VERSION_ID"] = "debian", "13"
	driver := map[string]any{"repository": "nvcr.io/nvidia", "image": "driver", "version": "595.91.07"}
	c := newCluster(t, policy(map[string]any{"driver": driver}), node("g1", labels))
	c.reconcile()
	set := c.daemonSet("nvidia-driver-daemonset")
	if got := set.Spec.Template.Spec.Containers[0].Image; got != "nvcr.io/nvidia/driver:595.91.07-debian13" {
		t.Error(got)
	}
	if set.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		t.Error(set.Spec.UpdateStrategy)
	}
}

func TestChangedSpecChangesThePods(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	before := c.get("DaemonSet", "nvidia-dcgm-exporter").GetAnnotations()[hashNote]
	change := c.get("ClusterPolicy", policyName)
	change.Object["spec"] = spec(map[string]any{"dcgmExporter": map[string]any{
		"env":    []any{map[string]any{"name": "DCGM_EXPORTER_INTERVAL", "value": "15000"}},
		"config": map[string]any{"name": "counters"},
	}})
	client, _ := c.at("ClusterPolicy")
	if _, err := client.Update(context.Background(), change, updateOptions); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	exporter := c.daemonSet("nvidia-dcgm-exporter")
	container := exporter.Spec.Template.Spec.Containers[0]
	if exporter.Annotations[hashNote] == before || value(container, "DCGM_EXPORTER_INTERVAL") != "15000" {
		t.Error("not updated")
	}
	if !strings.HasSuffix(value(container, "DCGM_EXPORTER_COLLECTORS"), "/dcgm-metrics.csv") {
		t.Error(value(container, "DCGM_EXPORTER_COLLECTORS"))
	}
}

func TestNRI(t *testing.T) {
	c := newCluster(t, policy(spec(nil)), gpuNode())
	c.reconcile()
	change := c.get("ClusterPolicy", policyName)
	change.Object["spec"] = spec(map[string]any{"cdi": map[string]any{"enabled": true, "nriPluginEnabled": true}})
	client, _ := c.at("ClusterPolicy")
	if _, err := client.Update(context.Background(), change, updateOptions); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	plugin := c.daemonSet("nvidia-device-plugin-daemonset").Spec.Template
	if c.get("RuntimeClass", "nvidia") != nil || plugin.Spec.RuntimeClassName != nil {
		t.Error("a RuntimeClass although NRI is there")
	}
	if plugin.Annotations["nvidia.cdi.k8s.io/container.nvidia-device-plugin"] != "management.nvidia.com/gpu=all" {
		t.Error(plugin.Annotations)
	}
}

func TestTheExporterAsksTheEngineOfItsPod(t *testing.T) {
	c := newCluster(t, policy(spec(map[string]any{
		"dcgm":         map[string]any{"enabled": true},
		"dcgmExporter": map[string]any{"enablePodLabels": true, "podLabelAllowlistRegex": []any{"^app$", "^team$"}},
	})), gpuNode())
	c.reconcile()
	container := c.daemonSet("nvidia-dcgm-exporter").Spec.Template.Spec.Containers[0]
	if value(container, "DCGM_REMOTE_HOSTENGINE_INFO") != "nvidia-dcgm:5555" ||
		value(container, "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX") != "^app$,^team$" {
		t.Error(container.Env)
	}
}
