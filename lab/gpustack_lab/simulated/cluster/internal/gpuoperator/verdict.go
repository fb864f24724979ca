package gpuoperator

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Verdict is the outcome of a reconcile as the policy's status tells it.
type Verdict struct {
	State   string // ready, notReady, ignored
	Reason  string
	Message string
	Again   time.Duration
}

// judge is where the false green is made: no label and no GPU node are "ready" too, told apart by the reason alone.
func judge(waiting []string, fleet Fleet) Verdict {
	switch {
	case len(waiting) > 0:
		message := fmt.Sprintf("ClusterPolicy is not ready, states not ready: [%s]", strings.Join(waiting, " "))
		return Verdict{"notReady", "OperandNotReady", message, notReadyAgain}
	case !fleet.NFD:
		return Verdict{"ready", "NFDLabelsMissing", "No NFD label found, polling for new nodes.", noLabelsAgain}
	case fleet.GPUNodes == 0:
		return Verdict{"ready", "NoGPUNodes", "No GPU node found, watching for new nodes to join the cluster.", 0}
	}
	return Verdict{"ready", "Reconciled", "ClusterPolicy is ready as all resources have been successfully reconciled", 0}
}

func failed(err error) Verdict {
	return Verdict{"notReady", "ReconcileFailed", err.Error(), notReadyAgain}
}

// Conditions are Ready and Error; the one that does not hold names the other as its reason.
func (v Verdict) Conditions() []metav1.Condition {
	if v.State == "ready" {
		return []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: v.Reason, Message: v.Message},
			{Type: "Error", Status: metav1.ConditionFalse, Reason: "Ready"},
		}
	}
	return []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Error"},
		{Type: "Error", Status: metav1.ConditionTrue, Reason: v.Reason, Message: v.Message},
	}
}

// writeState writes the policy's status where it differs; the transition times of equal conditions stay.
func (o *Operator) writeState(ctx context.Context, name, state string, conditions []metav1.Condition) error {
	policies, _ := o.at("ClusterPolicy")
	policy, err := policies.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	before, _, _ := unstructured.NestedMap(policy.Object, "status")
	var status struct {
		Namespace  string             `json:"namespace,omitempty"`
		State      string             `json:"state"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(before, &status); err != nil {
		return err
	}
	status.Namespace, status.State = o.namespace, state
	for _, condition := range conditions {
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	after, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil || reflect.DeepEqual(before, after) {
		return err
	}
	if err := unstructured.SetNestedMap(policy.Object, after, "status"); err != nil {
		return err
	}
	_, err = policies.UpdateStatus(ctx, policy, metav1.UpdateOptions{})
	return err
}
