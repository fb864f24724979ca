package gpunode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	gpuTries = 30 // times pause: how long the device plugin may take to register
	podTries = 60
)

// Node is the node that a validator pod runs on.
type Node struct {
	cluster         kubernetes.Interface
	name, namespace string
	image, class    string
	pause           time.Duration
	log             *slog.Logger
}

// AwaitGPU waits until the node's capacity names a GPU and returns one of it as a limit.
func (n Node) AwaitGPU(ctx context.Context) (corev1.ResourceList, error) {
	for range gpuTries {
		node, err := n.cluster.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for name, quantity := range node.Status.Capacity {
			gpu := strings.HasPrefix(string(name), "nvidia.com/gpu") || strings.HasPrefix(string(name), "nvidia.com/mig-")
			if gpu && quantity.Value() > 0 {
				return corev1.ResourceList{name: resource.MustParse("1")}, nil
			}
		}
		n.log.Info("GPU resources are not yet discovered by the node")
		if err := n.wait(ctx); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("GPU resources are not discovered by the node")
}

// RunWorkload runs the pod nvidia-<kind>-validator on this node and waits for its end. The pod of an earlier run
// is deleted first; the new one stays, Completed.
func (n Node) RunWorkload(ctx context.Context, kind string, limit corev1.ResourceList) error {
	app := "nvidia-" + kind + "-validator"
	validator, err := n.cluster.AppsV1().DaemonSets(n.namespace).Get(ctx, "nvidia-operator-validator", metav1.GetOptions{})
	if err != nil {
		return err
	}
	pods := n.cluster.CoreV1().Pods(n.namespace)
	earlier, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + app, FieldSelector: "spec.nodeName=" + n.name})
	if err != nil {
		return err
	}
	now := int64(0)
	for _, pod := range earlier.Items {
		if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			return err
		}
	}
	pod := n.pod(app, kind, limit)
	pod.OwnerReferences = validator.OwnerReferences
	pod.Spec.Tolerations = validator.Spec.Template.Spec.Tolerations
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for range podTries {
		found, err := pods.Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Status.Phase == corev1.PodSucceeded {
			return nil
		}
		n.log.Info("workload pod has not succeeded yet", "pod", created.Name, "phase", found.Status.Phase)
		if err := n.wait(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("gave up waiting for pod %s", created.Name)
}

// pod bypasses the scheduler by its node's name. Without a limit it sees every GPU through the runtime class.
func (n Node) pod(app, kind string, limit corev1.ResourceList) *corev1.Pod {
	privileged := true
	work := corev1.Container{
		Name: kind + "-validation", Image: n.image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"gpu-operator", "validate", "workload"},
		Resources:       corev1.ResourceRequirements{Limits: limit, Requests: limit},
		SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
	}
	if limit == nil {
		work.Env = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: app + "-", Namespace: n.namespace, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName: n.name, RestartPolicy: corev1.RestartPolicyOnFailure,
			ServiceAccountName: "nvidia-operator-validator",
			InitContainers:     []corev1.Container{work},
			Containers: []corev1.Container{{
				Name: app, Image: n.image, ImagePullPolicy: corev1.PullIfNotPresent,
				Command: []string{"sh", "-c", "echo " + kind + " workload validation is successful"},
			}},
		},
	}
	if n.class != "" {
		pod.Spec.RuntimeClassName = &n.class
	}
	return pod
}

func (n Node) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(n.pause):
		return nil
	}
}

// Workload is the kernel that a workload pod runs: vectorAdd where the image has it, else a look at the devices.
func Workload(ctx context.Context, log *slog.Logger) error {
	if path, err := exec.LookPath("vectorAdd"); err == nil {
		return exec.CommandContext(ctx, path).Run()
	}
	devices, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil || len(devices) == 0 {
		return errors.New("no /dev/nvidia<N> in this container")
	}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		return err
	}
	log.Info("SIMULATED kernel", "devices", devices)
	return nil
}
