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

// run reads GF_SECURITY_ADMIN_USER and _PASSWORD, GF_SERVER_HTTP_ADDR and _PORT, GF_PATHS_PROVISIONING as Grafana does.
func run(ctx context.Context) error {
	server := grafana.NewServer(env("GF_SECURITY_ADMIN_USER", "admin"), env("GF_SECURITY_ADMIN_PASSWORD", "admin"))
	if err := server.Provision(env("GF_PATHS_PROVISIONING", "/etc/grafana/provisioning")); err != nil {
		return err
	}
	if folders := os.Getenv("SIMULATED_FOLDERS_FROM_STRUCTURE"); folders != "" {
		server.Flat = folders != "true"
	}
	server.Editable = os.Getenv("SIMULATED_ALLOW_UI_UPDATES") == "true"
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

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
