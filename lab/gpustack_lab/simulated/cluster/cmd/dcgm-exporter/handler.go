package main

import (
	"bytes"
	"log/slog"
	"net/http"

	"gpustack.local/simulated/cluster/internal/exporter"
	"gpustack.local/simulated/cluster/internal/podresources"
)

// handler serves /, /metrics and /health. Pods are asked for at each scrape; where the kubelet fails to answer the
// scrape fails too.
func handler(collector *exporter.Collector, options exporter.Options, asker podresources.Asker, kubernetes bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("<html><head><title>GPU Exporter</title></head><body><h1>GPU Exporter</h1>" +
			`<p><a href="./metrics">Metrics</a></p></body></html>`))
	})
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("OK")) })
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		var owners map[string][]podresources.Owner
		if kubernetes {
			var err error
			if owners, err = asker.Owners(r.Context()); err != nil {
				slog.Error("Failed to apply transformations on metrics", "error", err.Error())
				http.Error(w, "internal server error", http.StatusInternalServerError)
				return
			}
		}
		var text bytes.Buffer
		exporter.Write(&text, collector.Rows(), owners, options)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Write(text.Bytes())
	})
	return mux
}
