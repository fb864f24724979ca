package grafana

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// query is one of a panel's. Neither instant nor range is range.
type query struct {
	RefID         string          `json:"refId"`
	DataSource    json.RawMessage `json:"datasource"`
	Expression    string          `json:"expr"`
	Instant       bool            `json:"instant"`
	Range         bool            `json:"range"`
	Interval      string          `json:"interval"`
	IntervalMs    int64           `json:"intervalMs"`
	MaxDataPoints int64           `json:"maxDataPoints"`
	Legend        string          `json:"legendFormat"`
}

// uid of the data source: {"uid": …} or, as old dashboards have it, the bare text.
func (q query) uid() string {
	var reference struct {
		UID string `json:"uid"`
	}
	var text string
	if json.Unmarshal(q.DataSource, &reference) == nil && reference.UID != "" {
		return reference.UID
	}
	json.Unmarshal(q.DataSource, &text)
	return text
}

// result is what one query came to.
type result struct {
	Status int     `json:"status"`
	Error  string  `json:"error,omitempty"`
	Source string  `json:"errorSource,omitempty"`
	Frames []frame `json:"frames"`
}

// query answers POST /api/ds/query: 400 with all results when any of them failed.
func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	var body struct {
		From    string  `json:"from"`
		To      string  `json:"to"`
		Queries []query `json:"queries"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
		reply(w, http.StatusBadRequest, message("bad request data"))
		return
	}
	now := time.Now()
	from, err1 := moment(body.From, now)
	to, err2 := moment(body.To, now)
	if len(body.Queries) == 0 || err1 != nil || err2 != nil || from > to {
		reply(w, http.StatusBadRequest, message("no queries, or no time range from and to"))
		return
	}
	status, results := http.StatusOK, map[string]result{}
	for _, one := range body.Queries {
		source, ok := s.source(one.uid())
		if !ok {
			reply(w, http.StatusNotFound, message("data source not found"))
			return
		}
		if one.RefID == "" {
			one.RefID = "A"
		}
		done := s.run(r.Context(), one, source, from, to)
		if done.Error != "" {
			status = http.StatusBadRequest
		}
		results[one.RefID] = done
	}
	reply(w, status, map[string]any{"results": results})
}

// run asks Prometheus once, or twice where a panel wants both an instant and a range.
func (s *Server) run(ctx context.Context, one query, source DataSource, from, to int64) result {
	if source.Type != "prometheus" {
		return result{Status: http.StatusNotImplemented, Error: "SIMULATED Grafana queries nothing but Prometheus", Frames: []frame{}}
	}
	every := step(from, to, one, source)
	expression := expand(one.Expression, from, to, every, source)
	out := result{Status: http.StatusOK, Frames: []frame{}}
	if one.Range || !one.Instant {
		// Aligned, so that the same panel asks for the same points a moment later.
		size := every.Milliseconds()
		s.add(ctx, &out, one, source, "/api/v1/query_range", expression, every, url.Values{
			"start": {unix(from / size * size)}, "end": {unix(to / size * size)}, "step": {strconv.FormatFloat(every.Seconds(), 'f', -1, 64)}})
	}
	if one.Instant {
		s.add(ctx, &out, one, source, "/api/v1/query", expression, every, url.Values{"time": {unix(to)}})
	}
	return out
}

func (s *Server) add(ctx context.Context, out *result, one query, source DataSource, path, expression string, every time.Duration, parameters url.Values) {
	parameters.Set("query", expression)
	got, err := s.ask(ctx, source, path, parameters)
	if err != nil {
		out.Status, out.Error, out.Source = http.StatusBadGateway, err.Error(), "downstream"
		return
	}
	if got.Status != "success" {
		out.Status, out.Error, out.Source = http.StatusBadRequest, got.Error, "downstream"
		return
	}
	frames, err := frames(got, one, fmt.Sprintf("Expr: %s\nStep: %s", expression, every), every)
	if err != nil {
		out.Status, out.Error = http.StatusInternalServerError, err.Error()
		return
	}
	out.Frames = append(out.Frames, frames...)
}

func unix(milliseconds int64) string {
	return strconv.FormatFloat(float64(milliseconds)/1000, 'f', 3, 64)
}
