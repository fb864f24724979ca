package gpuoperator

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// complete gives an asset's DaemonSet what all DaemonSets have in common: label app=<name>, tolerations, priority,
// update strategy, runtime class, and the component's own settings in its first container.
func complete(asset *unstructured.Unstructured, state State, spec Spec) (*unstructured.Unstructured, error) {
	var set appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(asset.Object, &set, true); err != nil {
		return nil, fmt.Errorf("DaemonSet %s: %w", asset.GetName(), err)
	}
	app := map[string]string{"app": set.Name}
	set.Labels = merged(spec.Daemonsets.Labels, app)
	set.Annotations = merged(spec.Daemonsets.Annotations, set.Annotations)
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
	template := &set.Spec.Template
	template.Labels = merged(spec.Daemonsets.Labels, app)
	template.Annotations = merged(template.Annotations, spec.Daemonsets.Annotations)

	// The trap of GPU nodes that are control planes: nothing tolerates their taint unless the policy says so.
	pod := &template.Spec
	pod.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	if len(spec.Daemonsets.Tolerations) > 0 {
		pod.Tolerations = spec.Daemonsets.Tolerations
	}
	pod.PriorityClassName = "system-node-critical"
	if spec.Daemonsets.PriorityClassName != "" {
		pod.PriorityClassName = spec.Daemonsets.PriorityClassName
	}
	if class := spec.RuntimeClass(); state.GPU && class != "" {
		pod.RuntimeClassName = &class
	}
	if state.GPU && spec.NRI() {
		note := "nvidia.cdi.k8s.io/container." + pod.Containers[0].Name
		template.Annotations = merged(template.Annotations, map[string]string{note: "management.nvidia.com/gpu=all"})
	}
	strategy(&set, spec)
	settle(pod, state.Operand(spec))

	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&set)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	completed := &unstructured.Unstructured{Object: object}
	completed.SetAPIVersion("apps/v1")
	completed.SetKind("DaemonSet")
	return completed, nil
}

// strategy takes the policy's update strategy; a driver's pods are only ever replaced by hand.
func strategy(set *appsv1.DaemonSet, spec Spec) {
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType || spec.Daemonsets.UpdateStrategy == "OnDelete" {
		set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
		return
	}
	unavailable := intstr.FromInt32(1)
	if spec.Daemonsets.RollingUpdate.MaxUnavailable != "" {
		unavailable = intstr.Parse(spec.Daemonsets.RollingUpdate.MaxUnavailable)
	}
	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &unavailable},
	}
}

// settle applies the component's settings: what the policy says of env, args and resources wins over the asset.
func settle(pod *corev1.PodSpec, component Component) {
	main := &pod.Containers[0]
	if len(component.Args) > 0 {
		main.Args = component.Args
	}
	for _, variable := range component.Env {
		if variable.Name == "RUNTIME_CONFIG_SOURCE" {
			variable.Value = locateSources(variable.Value)
		}
		setEnv(main, variable)
	}
	for i := range pod.Containers {
		if component.Resources != nil {
			pod.Containers[i].Resources = *component.Resources
		}
	}
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			if list[i].ImagePullPolicy = corev1.PullPolicy(component.ImagePullPolicy); component.ImagePullPolicy == "" {
				list[i].ImagePullPolicy = corev1.PullIfNotPresent
			}
		}
	}
	for _, secret := range component.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
	}
	if On(component.HostNetwork, false) {
		pod.HostNetwork, pod.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
	}
}

// locateSources puts files of the host below /host, where the toolkit's container has them (NVIDIA/gpu-operator v26.7.0
// controllers/object_controls.go, transformRuntimeConfigAndSocketMounts).
func locateSources(sources string) string {
	located := strings.Split(sources, ",")
	for i, source := range located {
		if file, isFile := strings.CutPrefix(source, "file="); isFile {
			located[i] = "file=" + filepath.Join("/host", file)
		}
	}
	return strings.Join(located, ",")
}

func setEnv(container *corev1.Container, variable corev1.EnvVar) {
	for i := range container.Env {
		if container.Env[i].Name == variable.Name {
			container.Env[i] = variable
			return
		}
	}
	container.Env = append(container.Env, variable)
}

// merged is a new map; later ones win.
func merged(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
