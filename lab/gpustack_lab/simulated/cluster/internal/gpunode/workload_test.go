package gpunode

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

func onNode(capacity string, objects ...runtime.Object) (Node, *fake.Clientset) {
	there := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "g1"}}
	if capacity != "" {
		there.Status.Capacity = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(capacity)}
	}
	validator := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "nvidia-operator-validator", Namespace: "ns"}}
	validator.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
	api := fake.NewClientset(append(objects, there, validator)...)
	return Node{cluster: api, name: "g1", namespace: "ns", image: "i", class: "nvidia", pause: time.Microsecond, log: silent}, api
}

// ends makes every pod that is created end in this phase.
func ends(api *fake.Clientset, phase corev1.PodPhase) {
	api.PrependReactor("create", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		pod := action.(kubetesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Name, pod.Status.Phase = pod.GenerateName+"x", phase
		return false, pod, nil
	})
}

func TestWorkloadTakesTheValidatorsTolerationsAndReplacesTheEarlierPod(t *testing.T) {
	earlier := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "ns", Labels: map[string]string{"app": "nvidia-cuda-validator"}}}
	node, api := onNode("", earlier)
	ends(api, corev1.PodSucceeded)
	if err := node.RunWorkload(context.Background(), "cuda", nil); err != nil {
		t.Fatal(err)
	}
	pods, _ := api.CoreV1().Pods("ns").List(context.Background(), metav1.ListOptions{})
	if len(pods.Items) != 1 {
		t.Fatal(len(pods.Items))
	}
	pod := pods.Items[0]
	if pod.Spec.NodeName != "g1" || pod.Spec.Tolerations[0].Key != "k" || *pod.Spec.RuntimeClassName != "nvidia" {
		t.Error(pod.Spec)
	}
	if pod.Labels["app"] != "nvidia-cuda-validator" || !strings.HasPrefix(pod.Name, "nvidia-cuda-validator-") {
		t.Error(pod.ObjectMeta)
	}
}

func TestWorkloadThatFailsIsGivenUp(t *testing.T) {
	node, api := onNode("")
	ends(api, corev1.PodFailed)
	if err := node.RunWorkload(context.Background(), "cuda", nil); err == nil {
		t.Error("no error")
	}
}

func TestPluginNeedsAGPUInTheNodesCapacity(t *testing.T) {
	node, _ := onNode("2")
	limit, err := node.AwaitGPU(context.Background())
	if err != nil || len(limit) != 1 {
		t.Error(limit, err)
	}
	for _, capacity := range []string{"", "0"} {
		node, _ := onNode(capacity)
		if _, err := node.AwaitGPU(context.Background()); err == nil {
			t.Errorf("capacity %q is enough", capacity)
		}
	}
}

func TestVariablesOfTheHostsDriver(t *testing.T) {
	want := "IS_HOST_DRIVER=true\nNVIDIA_DRIVER_ROOT=/\nDRIVER_ROOT_CTR_PATH=/host\nNVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n"
	if got := variables(true, "/", "/host"); got != want {
		t.Error(got)
	}
}

func TestOnlyAllDisabledSucceeds(t *testing.T) {
	for config, want := range map[string]string{"all-disabled": "success", "all-1g.10gb": "failed"} {
		if got := migOutcome(config); got != want {
			t.Errorf("%s: %s", config, got)
		}
	}
}
