package grafana

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusedDashboards(t *testing.T) {
	good := File{Path: "GPUs/a.json", Text: `{"title":"A","uid":"a","tags":["gpu",5]}`}
	for text, says := range map[string]string{
		`{"title":"A"`:              "failed to load dashboard",
		`["A"]`:                     "failed to load dashboard",
		`{"uid":"b"}`:               "title cannot be empty",
		`{"title":"B","uid":"b b"}`: "illegal characters",
		`{"title":"B","uid":"` + strings.Repeat("b", 41) + `"}`: "longer than 40",
		`{"title":"B","uid":"a"}`:                               "the same UID is used more than once",
		`{"title":"A","uid":"b"}`:                               "title is not unique in folder",
	} {
		got, problems := Dashboards([]File{good, {Path: "GPUs/b.json", Text: text}})
		if len(got) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Says, says) {
			t.Errorf("%s: %+v", text, problems)
		}
	}
	got, problems := Dashboards([]File{good, {Path: "b.json", Text: `{"title":"A"}`}, {Path: "README.md", Text: "x"}})
	if len(got) != 2 || len(problems) != 0 || got[0].Folder != "GPUs" || got[1].Folder != "" || got[1].UID == "" || len(got[0].Tags) != 1 {
		t.Errorf("%+v %+v", got, problems)
	}
}

func TestDashboardsThatWouldStayEmpty(t *testing.T) {
	dashboards, _ := Dashboards([]File{{Path: "a.json", Text: `{"title":"A","__inputs":[{"name":"DS"}],"panels":[
		{"datasource":{"uid":"prometheus"},"targets":[{"datasource":{"uid":"elsewhere"}},{"datasource":{"uid":"elsewhere"}}]},
		{"datasource":{"uid":"${ds}"}},{"datasource":"-- Grafana --"},{"datasource":null}]}`}})
	problems := Unusable(dashboards, []DataSource{{UID: "prometheus"}})
	if len(problems) != 2 || !strings.Contains(problems[0].Says, "__inputs") || !strings.Contains(problems[1].Says, "elsewhere") {
		t.Errorf("%+v", problems)
	}
}

func TestDataSources(t *testing.T) {
	const one = "apiVersion: 1\ndatasources:\n- {name: Prometheus, type: prometheus, uid: prometheus, url: http://here, isDefault: true, jsonData: {timeInterval: 30s}}\n"
	got, problems, err := DataSources([]File{{Path: "a.yaml", Text: one}, {Path: "b.yaml", Text: "datasources: ["}, {Path: "c.txt", Text: "x"},
		{Path: "d.yaml", Text: "datasources: [{name: Loki, type: loki}, {type: loki}]"}})
	if err != nil || len(got) != 2 || len(problems) != 2 || got[0].ScrapeInterval().Seconds() != 30 || got[1].UID == "" || !got[0].ReadOnly {
		t.Errorf("%+v %+v %v", got, problems, err)
	}
	again := strings.ReplaceAll(one, "http://here", "http://there")
	if got, _, err := DataSources([]File{{Path: "a.yaml", Text: one}, {Path: "b.yaml", Text: again}}); err != nil || len(got) != 1 || got[0].URL != "http://there" {
		t.Errorf("%+v %v", got, err)
	}
	second := strings.ReplaceAll(one, "Prometheus", "Second")
	server := NewServer("admin", "secret")
	server.Sources.Put("m/a", "", map[string]string{"a.yaml": one})
	server.Sources.Put("m/b", "", map[string]string{"b.yaml": second})
	if _, sources, problems := server.all(); len(sources) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Says, "Only one datasource") {
		t.Errorf("two defaults: %+v %+v", sources, problems)
	}
}

func TestTwoConfigMapsWithOneFile(t *testing.T) {
	server := NewServer("admin", "secret")
	server.Dashboards.Put("a/x", "GPUs", map[string]string{"d.json": `{"title":"First"}`})
	server.Dashboards.Put("b/x", "GPUs", map[string]string{"d.json": `{"title":"Second"}`})
	if dashboards, _, problems := server.all(); len(dashboards) != 1 || len(problems) != 1 || problems[0].File.Owner != "b/x" {
		t.Errorf("%+v %+v", dashboards, problems)
	}
}

func TestOwnProvisioningFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"datasources/p.yaml": "datasources: [{name: P, type: prometheus, uid: p}]",
		"dashboards/s.yaml":  "providers: [{name: sidecar, options: {path: /tmp/dashboards, foldersFromFilesStructure: false}}]",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := NewServer("admin", "secret")
	if err := server.Provision(dir); err != nil {
		t.Fatal(err)
	}
	server.Dashboards.Put("a/x", "GPUs", map[string]string{"d.json": `{"title":"D"}`})
	dashboards, sources, _ := server.all()
	if len(sources) != 1 || sources[0].UID != "p" || dashboards[0].Folder != "" {
		t.Errorf("%+v %+v", dashboards, sources)
	}
}
