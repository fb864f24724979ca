// dcgm-exporter is SIMULATED: what dcgm-exporter 4.8.3 shows on its port, over the lab's GPU state instead of DCGM.
// Flags, environment, counter file, labels, blanks, windows and reload are those of the real one.
//
// Keys of a GPU's line in the state that only this program knows, for tests: exporter_uuid=GPU-… prints another UUID,
// exporter_silent=1 leaves the GPU out, exporter_delay=SECONDS shows its readings so much later.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gpustack.local/simulated/cluster/internal/counters"
	"gpustack.local/simulated/cluster/internal/exporter"
	"gpustack.local/simulated/cluster/internal/fields"
	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/podresources"
)

func main() {
	c, err := parse(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(c)
	}
	if err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}

func run(c config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	paths := gpustate.PathsFrom(os.Getenv)
	slog.Info("Starting dcgm-exporter", "Version", "SIMULATED 4.8.3")
	if err := reach(c.engine); err != nil {
		return err
	}
	if _, err := gpustate.Read(paths.State); err != nil {
		return errors.Join(errors.New("failed to initialize DCGM"), err)
	}
	list, err := read(c, paths)
	if err != nil {
		return err
	}
	options := exporter.Options{
		Hostname: hostname(c, os.Getenv), XidWindow: duration(c.xidWindow), ClockWindow: duration(c.clockWindow),
		DashedModel: c.dashedModel,
	}
	collector := exporter.New(paths, list, options)
	if err := collector.Collect(time.Now()); err != nil {
		return err
	}
	go every(ctx, duration(c.interval), func() {
		if err := collector.Collect(time.Now()); err != nil {
			slog.Error("Failed to collect metrics", "error", err.Error())
		}
	})
	go reload(ctx, c, paths, collector)
	asker := podresources.Asker{Socket: c.socket, Shared: c.virtual, Resources: strings.Split(c.resources, ",")}
	if c.kubernetes {
		slog.Info("Kubernetes metrics collection enabled!")
	}
	server := &http.Server{Addr: c.address, Handler: handler(collector, options, asker, c.kubernetes), ReadTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	slog.Info("Starting webserver", "address", c.address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// reach looks whether the host engine listens that the readings are to come from; empty is the exporter's own. Source:
// dcgm-exporter 4.5.3-4.8.2 internal/pkg/dcgmprovider/dcgm.go. What it then reads is the GPU state here as well.
func reach(engine string) error {
	if engine == "" {
		return nil
	}
	slog.Info("Attempting to connect to remote hostengine at " + engine)
	connection, err := net.DialTimeout("tcp", engine, 5*time.Second)
	if err != nil {
		return fmt.Errorf("Failed to connect to remote hostengine: address=%s error=%w", engine, err)
	}
	return connection.Close()
}

func read(c config, paths gpustate.Paths) ([]counters.Counter, error) {
	return counters.Read(c.collectors, exporter.Enabled(paths, fields.Profiling), func(line int, name string) {
		slog.Warn(fmt.Sprintf("Skipping line %d ('%s'): metric not enabled", line, name))
	})
}

func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}
