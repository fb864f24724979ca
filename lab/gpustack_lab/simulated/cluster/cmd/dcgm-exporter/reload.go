package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gpustack.local/simulated/cluster/internal/exporter"
	"gpustack.local/simulated/cluster/internal/gpustate"
)

// reload reads the counter file again on SIGHUP and when it changed. A file that is refused leaves what was.
func reload(ctx context.Context, c config, paths gpustate.Paths, collector *exporter.Collector) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	before, _ := os.ReadFile(c.collectors)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			slog.Info("SIGHUP received - triggering hot reload")
		case <-look.C:
			// A ConfigMap's file is a link into a folder that is exchanged, so the text is compared and no event awaited.
			now, err := os.ReadFile(c.collectors)
			if err != nil || string(now) == string(before) {
				continue
			}
			before = now
		}
		list, err := read(c, paths)
		if err != nil {
			slog.Error("Failed to build new registry during hot reload", "error", err.Error(),
				"metrics_state", "preserving last-good registry")
			continue
		}
		collector.Reload(list)
		if err := collector.Collect(time.Now()); err != nil {
			slog.Error("Failed to collect metrics", "error", err.Error())
		}
		slog.Info("Hot reload complete")
	}
}
