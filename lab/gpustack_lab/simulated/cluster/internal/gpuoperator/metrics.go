package gpuoperator

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Values of gpu_operator_reconciliation_status.
const (
	statusSuccess  = 1
	statusNotReady = 0
	statusNoPolicy = -1
)

// Metrics are what the operator tells on port 8080, under the real operator's names.
type Metrics struct {
	mutex       sync.Mutex
	gpuNodes    int
	hasNFD      bool
	status      int
	total       int
	failed      int
	lastSuccess int64
}

func (m *Metrics) set(change func(*Metrics)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	change(m)
}

// record counts a verdict. Missing labels count as not ready here although the policy's state says ready.
func (m *Metrics) record(verdict Verdict) {
	m.set(func(m *Metrics) {
		switch {
		case verdict.State != "ready":
			m.status = statusNotReady
			m.failed++
		case verdict.Reason == "NFDLabelsMissing":
			m.status = statusNotReady
		default:
			m.status, m.lastSuccess = statusSuccess, time.Now().Unix()
		}
	})
}

func (m *Metrics) ServeHTTP(answer http.ResponseWriter, _ *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	labels := 0
	if m.hasNFD {
		labels = 1
	}
	answer.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, line := range []struct {
		name, kind, help string
		value            int64
	}{
		{"gpu_operator_gpu_nodes_total", "gauge", "Number of nodes with GPUs", int64(m.gpuNodes)},
		{"gpu_operator_reconciliation_status", "gauge", "1 success, 0 operands not ready, -1 no cluster policy", int64(m.status)},
		{"gpu_operator_reconciliation_total", "counter", "Reconciliations", int64(m.total)},
		{"gpu_operator_reconciliation_failed_total", "counter", "Reconciliations that failed or found operands not ready", int64(m.failed)},
		{"gpu_operator_reconciliation_last_success_ts_seconds", "gauge", "Unix time of the last success", m.lastSuccess},
		{"gpu_operator_reconciliation_has_nfd_labels", "gauge", "1 if node feature discovery labelled a node", int64(labels)},
	} {
		fmt.Fprintf(answer, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", line.name, line.help, line.name, line.kind, line.name, line.value)
	}
}

// Metrics is the handler of /metrics.
func (o *Operator) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", o.metrics)
	return mux
}
