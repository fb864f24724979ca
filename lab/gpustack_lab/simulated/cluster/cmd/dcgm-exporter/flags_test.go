package main

import (
	"bytes"
	"testing"
)

func TestFlagsGoBeforeTheEnvironment(t *testing.T) {
	env := map[string]string{"DCGM_EXPORTER_INTERVAL": "15000", "DCGM_EXPORTER_KUBERNETES": "true", "DCGM_EXPORTER_LISTEN": ":9500",
		"DCGM_REMOTE_HOSTENGINE_INFO": "localhost:5555", "KUBERNETES_ENABLE_DRA": "false"}
	c, err := parse([]string{"-f", "/tmp/x.csv", "--collect-interval=1000", "-d", "g", "--fake-gpus"}, func(name string) string { return env[name] }, &bytes.Buffer{})
	if err != nil || c.collectors != "/tmp/x.csv" || c.interval != 1000 || !c.kubernetes || c.address != ":9500" || c.xidWindow != 300000 || c.engine != "localhost:5555" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestRefusedCommandLines(t *testing.T) {
	none := func(string) string { return "" }
	bad := func(string) string { return "soon" }
	for _, err := range []error{
		second(parse([]string{"--interval", "5"}, none, &bytes.Buffer{})),
		second(parse([]string{"-c", "often"}, none, &bytes.Buffer{})),
		second(parse([]string{"-c", "0"}, none, &bytes.Buffer{})),
		second(parse(nil, bad, &bytes.Buffer{})),
	} {
		if err == nil {
			t.Error("accepted")
		}
	}
}

func second(_ config, err error) error { return err }
