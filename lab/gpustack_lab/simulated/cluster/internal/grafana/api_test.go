package grafana

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// request sends one with the admin's password and returns the status and the body.
func request(t *testing.T, server *Server, method, path, body string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.SetBasicAuth("admin", "secret")
	server.Handler().ServeHTTP(recorder, r)
	return recorder.Code, recorder.Body.String()
}

// provisioned is a server with a dashboard in a folder and a data source at the address.
func withSource(address string) *Server {
	server := NewServer("admin", "secret")
	server.Sources.Put("m/ds", "", map[string]string{"d.yaml": fmt.Sprintf(
		"datasources: [{name: Prometheus, type: prometheus, uid: prometheus, url: %q, isDefault: true, jsonData: {timeInterval: 30s}, secureJsonData: {password: hush}}]", address)})
	server.Dashboards.Put("g/d", "GPUs", map[string]string{"gpu.json": `{"title":"GPU Overview","uid":"gpu-overview","tags":["gpu"]}`})
	return server
}

func TestWhoMaySeeWhat(t *testing.T) {
	server := withSource("http://127.0.0.1:1")
	for _, here := range []struct {
		path, user, password string
		status               int
	}{
		{"/api/health", "", "", 200}, {"/metrics", "", "", 200}, {"/login", "", "", 200}, {"/", "", "", 302},
		{"/api/search", "", "", 401}, {"/api/search", "admin", "wrong", 401}, {"/api/search", "root", "secret", 401},
		{"/simulated/problems", "", "", 401}, {"/api/search", "admin", "secret", 200}, {"/api/none", "admin", "secret", 404},
	} {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, here.path, nil)
		if here.user != "" {
			r.SetBasicAuth(here.user, here.password)
		}
		server.Handler().ServeHTTP(recorder, r)
		if recorder.Code != here.status {
			t.Errorf("%+v: %d", here, recorder.Code)
		}
	}
}

func TestAPI(t *testing.T) {
	server := withSource("http://127.0.0.1:1")
	for _, here := range []struct {
		method, path string
		status       int
		has          string
	}{
		{"GET", "/api/search?query=gpu&type=dash-db", 200, `"uid":"gpu-overview"`},
		{"GET", "/api/search?tag=other", 200, "[]"},
		{"GET", "/api/search?type=dash-folder", 200, `"title":"GPUs","type":"dash-folder"`},
		{"GET", "/api/folders", 200, `"title":"GPUs"`},
		{"GET", "/api/dashboards/uid/gpu-overview", 200, `"provisioned":true`},
		{"GET", "/api/dashboards/uid/gpu-overview", 200, `"folderTitle":"GPUs"`},
		{"GET", "/api/dashboards/uid/none", 404, "Dashboard not found"},
		{"GET", "/api/datasources", 200, `"uid":"prometheus"`},
		{"GET", "/api/datasources/uid/prometheus", 200, `"isDefault":true`},
		{"GET", "/api/datasources/uid/none", 404, "Data source not found"},
		{"GET", "/api/datasources/uid/prometheus/health", 400, `"status":"ERROR"`},
		{"GET", "/api/datasources/proxy/uid/prometheus/api/v1/query?query=1", 502, "refused"},
		{"POST", "/api/admin/provisioning/dashboards/reload", 200, "Dashboards config reloaded"},
		{"GET", "/simulated/problems", 200, "[]"},
	} {
		status, body := request(t, server, here.method, here.path, "")
		if status != here.status || !strings.Contains(body, here.has) || strings.Contains(body, "hush") {
			t.Errorf("%s: %d %s", here.path, status, body)
		}
	}
}

// prometheus answers every query with the text, and remembers what it was asked.
func prometheus(t *testing.T, status int, text string) (string, *[]*http.Request) {
	t.Helper()
	var asked []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		asked = append(asked, r)
		w.WriteHeader(status)
		w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return server.URL, &asked
}

const panel = `{"from":"1700000000000","to":"1700003600000","queries":[{"refId":"A","datasource":{"uid":"prometheus"},
	"expr":"rate(x[$__rate_interval])+$__range_s+${__interval_ms}","intervalMs":60000,"maxDataPoints":100,"legendFormat":"{{UUID}}"%s}]}`

func TestRangeQuery(t *testing.T) {
	address, asked := prometheus(t, 200, `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"UUID":"GPU-a"},"values":[[1700000000,"1.5"],[1700000060.5,"NaN"],[1700000120,"+Inf"]]}]}}`)
	status, body := request(t, withSource(address), "POST", "/api/ds/query", fmt.Sprintf(panel, ""))
	want := `{"results":{"A":{"status":200,"frames":[{"schema":{"refId":"A","meta":{"custom":{"resultType":"matrix"},` +
		`"executedQueryString":"Expr: rate(x[120s])+3600+60000\nStep: 1m0s","type":"timeseries-multi","typeVersion":[0,1]},` +
		`"fields":[{"name":"Time","type":"time","typeInfo":{"frame":"time.Time"},"config":{"interval":60000}},` +
		`{"name":"Value","type":"number","typeInfo":{"frame":"float64"},"labels":{"UUID":"GPU-a"},"config":{"displayNameFromDS":"GPU-a"}}]},` +
		`"data":{"values":[[1700000000000,1700000060500,1700000120000],[1.5,null,null]],"entities":[null,{"Inf":[2],"NaN":[1]}]}}]}}}` + "\n"
	if status != 200 || body != want {
		t.Errorf("%d\n%s\n%s", status, body, want)
	}
	one := (*asked)[0]
	if one.URL.Path != "/api/v1/query_range" || one.Form.Get("step") != "60" || one.Form.Get("start") != "1699999980.000" ||
		one.Header.Get("Authorization") != "" {
		t.Errorf("%s %v", one.URL, one.Form)
	}
}

func TestInstantQuery(t *testing.T) {
	address, asked := prometheus(t, 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700003600,"3"]}]}}`)
	status, body := request(t, withSource(address), "POST", "/api/ds/query", fmt.Sprintf(panel, `,"instant":true`))
	if status != 200 || !strings.Contains(body, `"type":"numeric-multi"`) || !strings.Contains(body, `"values":[[1700003600000],[3]]`) {
		t.Errorf("%d %s", status, body)
	}
	if len(*asked) != 1 || (*asked)[0].URL.Path != "/api/v1/query" || (*asked)[0].Form.Get("time") != "1700003600.000" {
		t.Errorf("%+v", *asked)
	}
}

func TestNothingFound(t *testing.T) {
	address, _ := prometheus(t, 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	_, body := request(t, withSource(address), "POST", "/api/ds/query", fmt.Sprintf(panel, `,"instant":true`))
	if !strings.Contains(body, `"fields":[]},"data":{"values":[]}`) {
		t.Error(body)
	}
}

func TestQueriesThatFail(t *testing.T) {
	refusing, _ := prometheus(t, 400, `{"status":"error","errorType":"bad_data","error":"parse error: unexpected"}`)
	strange, _ := prometheus(t, 200, `<html>a login page</html>`)
	for address, says := range map[string]string{refusing: "parse error", strange: "unexpected response", "http://127.0.0.1:1": "refused"} {
		status, body := request(t, withSource(address), "POST", "/api/ds/query", fmt.Sprintf(panel, ""))
		var answer struct{ Results map[string]result }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 400 || !strings.Contains(answer.Results["A"].Error, says) {
			t.Errorf("%s: %d %s", says, status, body)
		}
	}
	for body, status := range map[string]int{
		"{":                     400,
		`{"from":"0","to":"1"}`: 400,
		`{"from":"soon","to":"now","queries":[{}]}`:                                   400,
		`{"from":"now-1h","to":"now","queries":[{"datasource":{"uid":"elsewhere"}}]}`: 404,
	} {
		if got, text := request(t, withSource(refusing), "POST", "/api/ds/query", body); got != status {
			t.Errorf("%s: %d %s", body, got, text)
		}
	}
}

func TestTheProxyKeepsOurPassword(t *testing.T) {
	address, asked := prometheus(t, 200, `{"status":"success"}`)
	status, body := request(t, withSource(address+"/prefix/"), "GET", "/api/datasources/proxy/uid/prometheus/api/v1/query?query=up", "")
	if status != 200 || body != `{"status":"success"}` {
		t.Errorf("%d %s", status, body)
	}
	if one := (*asked)[0]; one.URL.Path != "/prefix/api/v1/query" || one.Form.Get("query") != "up" || one.Header.Get("Authorization") != "" {
		t.Errorf("%s %v", one.URL, one.Header)
	}
}
