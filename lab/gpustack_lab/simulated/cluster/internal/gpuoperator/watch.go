package gpuoperator

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Run watches policies, nodes and the DaemonSets that a policy owns, and reconciles until the context ends.
// Nothing else wakes it: no CRD, no ServiceMonitor, no clock once the policy is ready.
func (o *Operator) Run(ctx context.Context) {
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 3*time.Second))
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(o.api, 0, metav1.NamespaceAll, nil)
	policies := factory.ForResource(resources["ClusterPolicy"].gvr).Informer()
	all := func() {
		for _, name := range policies.GetStore().ListKeys() {
			queue.Add(name)
		}
	}
	on(policies, func(before, now *unstructured.Unstructured) {
		if before == nil || now == nil || before.GetGeneration() != now.GetGeneration() {
			queue.Add(either(before, now).GetName())
		}
	})
	on(factory.ForResource(resources["Node"].gvr).Informer(), func(before, now *unstructured.Unstructured) {
		if nodeMatters(before, now) {
			all()
		}
	})
	on(factory.ForResource(resources["DaemonSet"].gvr).Informer(), func(before, now *unstructured.Unstructured) {
		for _, owner := range either(before, now).GetOwnerReferences() {
			if owner.Kind == "ClusterPolicy" {
				queue.Add(owner.Name)
			}
		}
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for {
		name, done := queue.Get()
		if done {
			return
		}
		o.step(ctx, queue, name)
	}
}

func (o *Operator) step(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], name string) {
	defer queue.Done(name)
	again, err := o.Reconcile(ctx, name)
	switch {
	case err != nil:
		o.log.Error("reconcile failed", "policy", name, "error", err)
		queue.AddRateLimited(name)
	case again > 0:
		queue.Forget(name)
		queue.AddAfter(name, again)
	default:
		queue.Forget(name)
	}
}

// nodeMatters says whether a change of a node wakes the operator: its GPU labels, the operands' switch, its MIG ability.
func nodeMatters(before, now *unstructured.Unstructured) bool {
	if now == nil {
		return false
	}
	labels := now.GetLabels()
	if before == nil {
		return hasGPU(labels)
	}
	_, mig := labels[migManager]
	return hasGPU(labels) != (labels[presentLabel] == "true") ||
		(hasGPU(labels) && migCapable(labels) && !mig) ||
		(before.GetLabels()[operandsLabel] == "false") != (labels[operandsLabel] == "false")
}

func on(informer cache.SharedIndexInformer, changed func(before, now *unstructured.Unstructured)) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { changed(nil, now.(*unstructured.Unstructured)) },
		UpdateFunc: func(before, now any) { changed(before.(*unstructured.Unstructured), now.(*unstructured.Unstructured)) },
		DeleteFunc: func(before any) {
			if gone, ok := before.(cache.DeletedFinalStateUnknown); ok {
				before = gone.Obj
			}
			if object, ok := before.(*unstructured.Unstructured); ok {
				changed(object, nil)
			}
		},
	})
}

func either(before, now *unstructured.Unstructured) *unstructured.Unstructured {
	if now == nil {
		return before
	}
	return now
}
