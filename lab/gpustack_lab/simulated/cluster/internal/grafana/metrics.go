package grafana

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

func (s *Server) count(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[method]++
}

// metrics has a few of Grafana's own series, so that its target is up and shows something.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprintf(w, "# HELP grafana_build_info SIMULATED Grafana.\n# TYPE grafana_build_info gauge\n"+
		"grafana_build_info{edition=\"oss\",version=%q,revision=\"simulated\"} 1\n", Version)
	fmt.Fprintf(w, "# HELP grafana_stat_totals_dashboard total amount of dashboards\n# TYPE grafana_stat_totals_dashboard gauge\n"+
		"grafana_stat_totals_dashboard %d\n", len(s.dashboards))
	fmt.Fprint(w, "# HELP grafana_http_requests_total Requests with a password, by method.\n# TYPE grafana_http_requests_total counter\n")
	for _, method := range slices.Sorted(maps.Keys(s.requests)) {
		fmt.Fprintf(w, "grafana_http_requests_total{method=%q} %d\n", method, s.requests[method])
	}
}
