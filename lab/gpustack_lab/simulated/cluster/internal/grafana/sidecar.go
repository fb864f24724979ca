package grafana

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Selection is what one sidecar looks for, as the Grafana chart's values sidecar.dashboards and sidecar.datasources say
// it. Namespace is "" for all; without a folder annotation all files lie in no folder.
type Selection struct{ Namespace, Label, Value, FolderAnnotation string }

func (s Selection) selector() string {
	if s.Value == "" {
		return s.Label
	}
	return s.Label + "=" + s.Value
}

// resync is how often everything is put again, against a missed event.
const resync = 5 * time.Minute

// Watch follows the selected ConfigMaps until the context ends. It returns when the first list was read, or with the
// context's error.
func Watch(ctx context.Context, client kubernetes.Interface, selected Selection, files *Files) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithNamespace(selected.Namespace),
		informers.WithTweakListOptions(func(options *meta.ListOptions) { options.LabelSelector = selected.selector() }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	put := func(object any) {
		if one, ok := object.(*core.ConfigMap); ok {
			slog.Info("Working on ADDED or MODIFIED configmap", "configmap", owner(one), "label", selected.Label)
			files.Put(owner(one), one.Annotations[selected.FolderAnnotation], texts(one))
		}
	}
	remove := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if one, ok := object.(*core.ConfigMap); ok {
			slog.Info("Working on DELETED configmap", "configmap", owner(one), "label", selected.Label)
			files.Put(owner(one), "", nil)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: put, UpdateFunc: func(_, now any) { put(now) }, DeleteFunc: remove,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("configmaps with %s were not listed: %w", selected.Label, ctx.Err())
	}
	return nil
}

func owner(one *core.ConfigMap) string { return one.Namespace + "/" + one.Name }

func texts(one *core.ConfigMap) map[string]string {
	out := maps.Clone(one.Data)
	if out == nil {
		out = map[string]string{}
	}
	for name, bytes := range one.BinaryData {
		out[name] = string(bytes)
	}
	return out
}
