package grafana

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// answer is Prometheus's. Values are pairs of a time in seconds and a number as text.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

type series struct {
	Metric map[string]string    `json:"metric"`
	Value  [2]json.RawMessage   `json:"value"`
	Values [][2]json.RawMessage `json:"values"`
}

// ask posts a query. An answer that says no is an answer; an error is that there was none, or none of Prometheus.
func (s *Server) ask(ctx context.Context, source DataSource, path string, parameters url.Values) (answer, error) {
	var out answer
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(source.URL, "/")+path, strings.NewReader(parameters.Encode()))
	if err != nil {
		return out, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.client.Do(request)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil || out.Status == "" {
		return out, fmt.Errorf("unexpected response with status code %d from %s", response.StatusCode, source.URL)
	}
	return out, nil
}

func (s *Server) health(w http.ResponseWriter, r *http.Request, source DataSource) {
	got, err := s.ask(r.Context(), source, "/api/v1/query", url.Values{"query": {"1+1"}})
	switch {
	case err != nil:
		reply(w, http.StatusBadRequest, map[string]any{"status": "ERROR", "message": err.Error()})
	case got.Status != "success":
		reply(w, http.StatusBadRequest, map[string]any{"status": "ERROR", "message": got.Error})
	default:
		reply(w, http.StatusOK, map[string]any{"status": "OK", "message": "Successfully queried the Prometheus API."})
	}
}

// proxy passes a request on to the data source, without our password.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, source DataSource) {
	target, err := url.Parse(source.URL)
	if err != nil || target.Host == "" {
		reply(w, http.StatusInternalServerError, message("Invalid data source URL"))
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(request *httputil.ProxyRequest) {
		request.SetURL(target)
		request.Out.URL.Path = strings.TrimRight(target.Path, "/") + "/" + r.PathValue("rest")
		request.Out.URL.RawPath = ""
		request.Out.Header.Del("Authorization")
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
		reply(w, http.StatusBadGateway, message(err.Error()))
	}}).ServeHTTP(w, r)
}
