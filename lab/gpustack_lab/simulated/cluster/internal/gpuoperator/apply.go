package gpuoperator

import (
	"context"
	"fmt"
	"hash/fnv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// hashNote holds the hash of the DaemonSet that this operator wrote last.
const hashNote = "nvidia.com/last-applied-hash"

type resource struct {
	gvr        schema.GroupVersionResource
	namespaced bool
}

// resources are the kinds of which assets are made; the first four are there before the operator.
var resources = map[string]resource{
	"Node":                     {schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, false},
	"Namespace":                {schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false},
	"ClusterPolicy":            {schema.GroupVersionResource{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}, false},
	"CustomResourceDefinition": {schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, false},
	"ServiceAccount":           {schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, true},
	"ConfigMap":                {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	"Service":                  {schema.GroupVersionResource{Version: "v1", Resource: "services"}, true},
	"Role":                     {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, true},
	"RoleBinding":              {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, true},
	"ClusterRole":              {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, false},
	"ClusterRoleBinding":       {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}, false},
	"RuntimeClass":             {schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}, false},
	"DaemonSet":                {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, true},
	"ServiceMonitor":           {schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"}, true},
}

// at is the client of one kind.
func (o *Operator) at(kind string) (dynamic.ResourceInterface, error) {
	known, ok := resources[kind]
	if !ok {
		return nil, fmt.Errorf("kind %q is not one of those that assets are made of", kind)
	}
	if known.namespaced {
		return o.api.Resource(known.gvr).Namespace(o.namespace), nil
	}
	return o.api.Resource(known.gvr), nil
}

// apply creates or overwrites an object as the policy's own. A DaemonSet is left alone while its hash is the same:
// an update restarts its pods.
func (o *Operator) apply(ctx context.Context, policy, obj *unstructured.Unstructured) error {
	client, err := o.at(obj.GetKind())
	if err != nil {
		return err
	}
	if resources[obj.GetKind()].namespaced {
		obj.SetNamespace(o.namespace)
	}
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(policy, policy.GroupVersionKind())})
	if obj.GetKind() == "DaemonSet" {
		if err := setHash(obj); err != nil {
			return err
		}
	}
	found, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		o.log.Info("creating", "kind", obj.GetKind(), "name", obj.GetName())
		_, err = client.Create(ctx, obj, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	switch obj.GetKind() {
	case "DaemonSet":
		if found.GetAnnotations()[hashNote] == obj.GetAnnotations()[hashNote] {
			return nil
		}
		o.log.Info("DaemonSet is different, updating", "name", obj.GetName())
	case "Service":
		for _, field := range []string{"clusterIP", "clusterIPs"} { // given by the API, must not change
			if value, ok, _ := unstructured.NestedFieldCopy(found.Object, "spec", field); ok {
				_ = unstructured.SetNestedField(obj.Object, value, "spec", field)
			}
		}
	}
	obj.SetResourceVersion(found.GetResourceVersion())
	_, err = client.Update(ctx, obj, metav1.UpdateOptions{})
	return err
}

// remove deletes an object by its name, whoever made it.
func (o *Operator) remove(ctx context.Context, kind, name string) error {
	client, err := o.at(kind)
	if err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	err = client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func setHash(obj *unstructured.Unstructured) error {
	text, err := yaml.Marshal(obj.Object) // keys are sorted
	if err != nil {
		return err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(text)
	notes := obj.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[hashNote] = fmt.Sprintf("%x", sum.Sum64())
	obj.SetAnnotations(notes)
	return nil
}
