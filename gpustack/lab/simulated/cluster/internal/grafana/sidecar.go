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

// The sidecar's contract. Source: the Grafana chart's values, sidecar.dashboards and sidecar.datasources.
const (
	DashboardLabel   = "grafana_dashboard"
	DataSourceLabel  = "grafana_datasource"
	labelValue       = "1"
	FolderAnnotation = "grafana_folder"
)

// resync is how often everything is put again, against a missed event.
const resync = 5 * time.Minute

// Watch follows the ConfigMaps with label=1 in the namespace, all for "", until the context ends. It returns when the
// first list was read, or with the context's error.
func Watch(ctx context.Context, client kubernetes.Interface, namespace, label string, files *Files) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *meta.ListOptions) { options.LabelSelector = label + "=" + labelValue }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	put := func(object any) {
		if one, ok := object.(*core.ConfigMap); ok {
			slog.Info("Working on ADDED or MODIFIED configmap", "configmap", owner(one), "label", label)
			files.Put(owner(one), one.Annotations[FolderAnnotation], texts(one))
		}
	}
	remove := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if one, ok := object.(*core.ConfigMap); ok {
			slog.Info("Working on DELETED configmap", "configmap", owner(one), "label", label)
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
		return fmt.Errorf("configmaps with %s were not listed: %w", label, ctx.Err())
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
