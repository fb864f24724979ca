package main

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"gpustack.local/simulated/cluster/internal/grafana"
)

// selections are what the simulated chart asks for: SIMULATED_<kind>_LABEL, _LABEL_VALUE and _NAMESPACE (ALL, or names
// with commas), SIMULATED_FOLDER_ANNOTATION. Without a label there is no sidecar of that kind.
func selections(kind string, getenv func(string) string) []grafana.Selection {
	label := getenv("SIMULATED_" + kind + "_LABEL")
	if label == "" {
		return nil
	}
	var out []grafana.Selection
	for namespace := range strings.SplitSeq(getenv("SIMULATED_"+kind+"_NAMESPACE"), ",") {
		if namespace == "ALL" {
			namespace = ""
		}
		one := grafana.Selection{Namespace: namespace, Label: label, Value: getenv("SIMULATED_" + kind + "_LABEL_VALUE")}
		if kind == "DASHBOARD" {
			one.FolderAnnotation = getenv("SIMULATED_FOLDER_ANNOTATION")
		}
		out = append(out, one)
	}
	return out
}

// sidecar watches both kinds of ConfigMaps, with the pod's service account or KUBECONFIG.
func sidecar(ctx context.Context, server *grafana.Server) {
	config, err := rest.InClusterConfig()
	if path := os.Getenv("KUBECONFIG"); err != nil && path != "" {
		config, err = clientcmd.BuildConfigFromFlags("", path)
	}
	if err != nil {
		slog.Warn("sidecar: no cluster, nothing is watched", "error", err.Error())
		return
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		slog.Error("sidecar", "error", err.Error())
		return
	}
	for kind, files := range map[string]*grafana.Files{"DASHBOARD": server.Dashboards, "DATASOURCE": server.Sources} {
		for _, selected := range selections(kind, os.Getenv) {
			go func() {
				if err := grafana.Watch(ctx, client, selected, files); err != nil {
					slog.Error("sidecar", "error", err.Error())
				}
			}()
		}
	}
}
