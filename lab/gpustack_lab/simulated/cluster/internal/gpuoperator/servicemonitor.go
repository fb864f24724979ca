package gpuoperator

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const monitorCRD = "servicemonitors.monitoring.coreos.com"

// serviceMonitor holds the trap: with serviceMonitor.enabled=false an object of that name is deleted in each
// reconcile, whoever made it; with true it is overwritten. Where the CRD is missing nothing happens and nothing is
// reported, and as CRDs are not watched, one that comes later is seen only at the next event of policy, node or
// DaemonSet.
func (o *Operator) serviceMonitor(ctx context.Context, policy, object *unstructured.Unstructured, state State, spec Spec) error {
	crds, _ := o.at("CustomResourceDefinition")
	if _, err := crds.Get(ctx, monitorCRD, metav1.GetOptions{}); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	wanted := state.Enabled(spec)
	if state.Name == "state-dcgm-exporter" {
		monitor := spec.DCGMExporter.ServiceMonitor
		wanted = wanted && monitor != nil && On(monitor.Enabled, false)
		if wanted {
			if err := adjust(object, *monitor); err != nil {
				return err
			}
		}
	}
	if !wanted {
		return o.remove(ctx, "ServiceMonitor", object.GetName())
	}
	return o.apply(ctx, policy, object)
}

// adjust takes over what the policy says of the exporter's ServiceMonitor.
func adjust(object *unstructured.Unstructured, monitor ServiceMonitor) error {
	object.SetLabels(merged(object.GetLabels(), monitor.AdditionalLabels))
	endpoints, _, err := unstructured.NestedSlice(object.Object, "spec", "endpoints")
	if err != nil {
		return err
	}
	endpoint := endpoints[0].(map[string]any)
	if monitor.Interval != "" {
		endpoint["interval"] = monitor.Interval
	}
	if monitor.ScrapeTimeout != "" {
		endpoint["scrapeTimeout"] = monitor.ScrapeTimeout
	}
	if monitor.HonorLabels != nil {
		endpoint["honorLabels"] = *monitor.HonorLabels
	}
	if len(monitor.Relabelings) > 0 {
		endpoint["relabelings"] = monitor.Relabelings
	}
	return unstructured.SetNestedSlice(object.Object, endpoints, "spec", "endpoints")
}
