package gpuoperator

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// labelNamespace lets the operands be privileged where the policy leaves that to the operator (psa.enabled).
func (o *Operator) labelNamespace(ctx context.Context, spec Spec) error {
	if !On(spec.PSA.Enabled, false) {
		return nil
	}
	namespaces, _ := o.at("Namespace")
	found, err := namespaces.Get(ctx, o.namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	change := map[string]string{}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if label := "pod-security.kubernetes.io/" + mode; found.GetLabels()[label] != "privileged" {
			change[label] = "privileged"
		}
	}
	if len(change) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": change}})
	if err != nil {
		return err
	}
	_, err = namespaces.Patch(ctx, o.namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
