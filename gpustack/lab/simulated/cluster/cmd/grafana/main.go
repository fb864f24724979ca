// grafana is SIMULATED: the outside of Grafana and of its sidecar, for a cluster without either image. It serves what
// ConfigMaps provision and passes queries on to the real Prometheus; it draws nothing.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"gpustack.local/simulated/cluster/internal/grafana"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}

// run reads GF_SECURITY_ADMIN_USER and _PASSWORD, GF_SERVER_HTTP_ADDR and _PORT, GF_PATHS_PROVISIONING as Grafana does;
// LABEL_NAMESPACE is the namespace of the ConfigMaps, all where it is empty.
func run(ctx context.Context) error {
	server := grafana.NewServer(env("GF_SECURITY_ADMIN_USER", "admin"), env("GF_SECURITY_ADMIN_PASSWORD", "admin"))
	if err := server.Provision(env("GF_PATHS_PROVISIONING", "/etc/grafana/provisioning")); err != nil {
		return err
	}
	server.Load()
	go sidecar(ctx, server)
	address := os.Getenv("GF_SERVER_HTTP_ADDR") + ":" + env("GF_SERVER_HTTP_PORT", "3000")
	listener := &http.Server{Addr: address, Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		listener.Close()
	}()
	slog.Info("SIMULATED Grafana: HTTP Server Listen", "address", address)
	if err := listener.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// sidecar watches both kinds of ConfigMaps, with the pod's service account or KUBECONFIG; without either it says so.
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
	for label, files := range map[string]*grafana.Files{
		grafana.DashboardLabel: server.Dashboards, grafana.DataSourceLabel: server.Sources,
	} {
		go func() {
			if err := grafana.Watch(ctx, client, os.Getenv("LABEL_NAMESPACE"), label, files); err != nil {
				slog.Error("sidecar", "error", err.Error())
			}
		}()
	}
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
