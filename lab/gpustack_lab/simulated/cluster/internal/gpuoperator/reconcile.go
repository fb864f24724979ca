package gpuoperator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

const (
	notReadyAgain = 5 * time.Second
	noLabelsAgain = 45 * time.Second
)

// Operator reconciles the one ClusterPolicy of a cluster.
type Operator struct {
	api       dynamic.Interface
	namespace string
	log       *slog.Logger
	metrics   *Metrics
	first     string // name of the ClusterPolicy that was seen first; all others are ignored
}

// New makes an operator whose operands live in namespace.
func New(api dynamic.Interface, namespace string, log *slog.Logger) *Operator {
	return &Operator{api: api, namespace: namespace, log: log, metrics: &Metrics{}}
}

// Reconcile brings the cluster towards the policy and says after how long to look again; 0 means: not by time.
// Without GPU nodes and without labels of node feature discovery the policy becomes "ready" all the same.
func (o *Operator) Reconcile(ctx context.Context, name string) (time.Duration, error) {
	policies, _ := o.at("ClusterPolicy")
	policy, err := policies.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		o.metrics.set(func(m *Metrics) { m.status = statusNoPolicy })
		if apierrors.IsNotFound(err) { // what it owned goes with it
			if o.first == name {
				o.first = ""
			}
			return 0, nil
		}
		return 0, err
	}
	if o.first == "" {
		o.first = name
	}
	if o.first != name {
		return 0, o.writeState(ctx, name, "ignored", nil)
	}
	o.metrics.set(func(m *Metrics) { m.total++ })
	verdict, err := o.run(ctx, policy)
	o.metrics.record(verdict)
	if statusErr := o.writeState(ctx, name, verdict.State, verdict.Conditions()); statusErr != nil && err == nil {
		err = statusErr
	}
	o.log.Info("reconciled", "policy", name, "state", verdict.State, "reason", verdict.Reason, "message", verdict.Message)
	return verdict.Again, err
}

// run reconciles every state and judges the whole.
func (o *Operator) run(ctx context.Context, policy *unstructured.Unstructured) (Verdict, error) {
	raw, _, _ := unstructured.NestedMap(policy.Object, "spec")
	spec, err := ParseSpec(raw)
	if err != nil {
		return failed(err), err
	}
	fleet, err := o.labelNodes(ctx, spec)
	o.metrics.set(func(m *Metrics) { m.gpuNodes, m.hasNFD = fleet.GPUNodes, fleet.NFD })
	if err != nil {
		return failed(err), err
	}
	if err := o.labelNamespace(ctx, spec); err != nil {
		return failed(err), err
	}
	input := Input{Spec: spec, Fleet: fleet, Namespace: o.namespace}
	var waiting []string
	for _, state := range States {
		ready, err := o.reconcileState(ctx, policy, state, input)
		if err != nil {
			err = fmt.Errorf("state %s: %w", state.Name, err)
			return failed(err), err
		}
		if !ready {
			waiting = append(waiting, state.Name)
		}
	}
	return judge(waiting, fleet), nil
}

// reconcileState applies or deletes the objects of one state and says whether its DaemonSets are ready.
func (o *Operator) reconcileState(ctx context.Context, policy *unstructured.Unstructured, state State, input Input) (bool, error) {
	enabled := state.Enabled(input.Spec)
	objects, err := Render(state.Name, input)
	if err != nil {
		return false, err
	}
	ready := true
	for _, object := range objects {
		kind, name := object.GetKind(), object.GetName()
		switch {
		case kind == "ServiceMonitor":
			err = o.serviceMonitor(ctx, policy, object, state, input.Spec)
		case !enabled:
			err = o.remove(ctx, kind, name)
		case kind == "DaemonSet" && input.GPUNodes == 0:
			o.log.Info("no GPU node in the cluster, DaemonSet not created", "name", name)
		case kind == "DaemonSet":
			if object, err = complete(object, state, input.Spec); err == nil {
				err = o.apply(ctx, policy, object)
			}
			if err == nil {
				var available bool
				available, err = o.daemonSetReady(ctx, name)
				ready = ready && available
			}
		default:
			err = o.apply(ctx, policy, object)
		}
		if err != nil {
			return false, fmt.Errorf("%s %s: %w", kind, name, err)
		}
	}
	return ready, o.removeUnwanted(ctx, state, input)
}

// removeUnwanted deletes what an earlier policy asked for and the assets do not name any more.
func (o *Operator) removeUnwanted(ctx context.Context, state State, input Input) error {
	if state.Name != "pre-requisites" {
		return nil
	}
	for _, class := range []string{"nvidia", "nvidia-cdi", "nvidia-legacy"} {
		unwanted := input.NRI() || (class != "nvidia" && !On(input.CDI.Enabled, true))
		if !unwanted {
			continue
		}
		if err := o.remove(ctx, "RuntimeClass", class); err != nil {
			return err
		}
	}
	return nil
}

// daemonSetReady is true also where no node is asked for: a taint that nothing tolerates, or the moment after creation.
func (o *Operator) daemonSetReady(ctx context.Context, name string) (bool, error) {
	sets, _ := o.at("DaemonSet")
	set, err := sets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	desired, _, _ := unstructured.NestedInt64(set.Object, "status", "desiredNumberScheduled")
	unavailable, _, _ := unstructured.NestedInt64(set.Object, "status", "numberUnavailable")
	return desired == 0 || unavailable == 0, nil
}
