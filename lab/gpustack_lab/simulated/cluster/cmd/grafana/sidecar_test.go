package main

import (
	"reflect"
	"testing"

	"gpustack.local/simulated/cluster/internal/grafana"
)

func TestSelectionsAsTheChartAsks(t *testing.T) {
	env := map[string]string{
		"SIMULATED_DASHBOARD_LABEL": "grafana_dashboard", "SIMULATED_DASHBOARD_LABEL_VALUE": "1",
		"SIMULATED_DASHBOARD_NAMESPACE": "ALL", "SIMULATED_FOLDER_ANNOTATION": "grafana_folder",
		"SIMULATED_DATASOURCE_LABEL": "grafana_datasource", "SIMULATED_DATASOURCE_NAMESPACE": "a,b",
	}
	getenv := func(name string) string { return env[name] }
	boards := []grafana.Selection{{Label: "grafana_dashboard", Value: "1", FolderAnnotation: "grafana_folder"}}
	sources := []grafana.Selection{{Namespace: "a", Label: "grafana_datasource"}, {Namespace: "b", Label: "grafana_datasource"}}
	if got := selections("DASHBOARD", getenv); !reflect.DeepEqual(got, boards) {
		t.Errorf("%+v", got)
	}
	if got := selections("DATASOURCE", getenv); !reflect.DeepEqual(got, sources) {
		t.Errorf("%+v", got)
	}
	delete(env, "SIMULATED_DATASOURCE_LABEL")
	if got := selections("DATASOURCE", getenv); got != nil {
		t.Errorf("%+v", got)
	}
}
