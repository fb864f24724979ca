package dcgm

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

const state = "driver 595.91.07\ncuda 13020\n" +
	"gpu uuid=GPU-a bus=0000:65:00.0 minor=0 name=NVIDIA_H100_80GB_HBM3 serial=165 pciid=0x2330 util=50\n" +
	"gpu uuid=GPU-b bus=0000:66:00.0 minor=1 name=NVIDIA_H100_80GB_HBM3 serial=166 pciid=0x2330\n"

// lab is an engine that listens, and the dcgmi that asks it.
type lab struct {
	t       *testing.T
	engine  *Engine
	address string
	folder  string
}

func newLab(t *testing.T) lab {
	folder := t.TempDir()
	for name, text := range map[string]string{"state": state, "events": "", "dev/nvidia0": "", "dev/nvidia1": ""} {
		path := filepath.Join(folder, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine := New(pathsIn(folder))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go engine.Serve(listener)
	return lab{t, engine, listener.Addr().String(), folder}
}

func pathsIn(folder string) gpustate.Paths {
	return gpustate.Paths{State: filepath.Join(folder, "state"), Events: filepath.Join(folder, "events"), Dev: filepath.Join(folder, "dev")}
}

// ask gives the exit status and both streams.
func (l lab) ask(line string) (int, string) {
	var out bytes.Buffer
	code := Ask(append(strings.Fields(line), "--host", l.address), gpustate.Paths{}, &out, &out)
	return code, out.String()
}

func (l lab) want(line string, code int, parts ...string) string {
	l.t.Helper()
	got, out := l.ask(line)
	if got != code {
		l.t.Errorf("%s: exit status %d, not %d: %s", line, got, code, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			l.t.Errorf("%s: no %q in %s", line, part, out)
		}
	}
	return out
}

// parsed is the JSON of an answer, which has lines around it in some subsystems.
func (l lab) parsed(out string) map[string]any {
	l.t.Helper()
	var found map[string]any
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):strings.LastIndex(out, "}")+1]), &found); err != nil {
		l.t.Error(err, out)
	}
	return found
}

func (l lab) set(words string) {
	path := filepath.Join(l.folder, "state")
	text, _ := os.ReadFile(path)
	os.WriteFile(path, []byte(strings.Replace(string(text), "minor=0", "minor=0 "+words, 1)), 0o600)
}

func TestDiscovery(t *testing.T) {
	newLab(t).want("discovery -l", 0, "2 GPUs found (Active).", "| 0      | Name: NVIDIA H100 80GB HBM3 ", "|        | Device UUID: GPU-a", "0 NvSwitches found.")
}

func TestGroupsLiveAsLongAsTheEngine(t *testing.T) {
	l := newLab(t)
	l.want("group -c train -a 0,1", 0, `Successfully created group "train" with a group ID of 2`, "Add to group operation successful.")
	found := l.parsed(l.want("group -l -j", 0))
	groups := found["body"].(map[string]any)["Groups"].(map[string]any)["children"].(map[string]any)
	entities := groups["2"].(map[string]any)["children"].(map[string]any)["Entities"].(map[string]any)["value"]
	if entities != "GPU 0, GPU 1" {
		t.Error(entities)
	}
	l.want("group -g 2 -i", 0, "GROUP INFO", "| 2 ", "-> Group Name")
	l.want("group -g 2 -a 1", 255, "already in the group")
	l.want("group -g 2 -r 1", 0, "Remove from group operation successful.")
	l.want("group -d 2", 0, "Successfully removed group 2")
	l.want("group -d 2", 251, "The Group is not found")
	l.want("group -c x -a 7", 255, "parsing for GPUs failed")
	if _, out := newLab(t).ask("group -l"); strings.Contains(out, "train") {
		t.Error("another engine knows the group")
	}
}

func TestPolicies(t *testing.T) {
	l := newLab(t)
	l.want("policy -g 0 --set 0,0 -T 90 -x", 0, "Policy successfully set.")
	out := l.want("policy -g 0 --get -j", 0, "Policy information\n{", "Max temperature threshold - 90", "XID error detected.")
	if !strings.HasSuffix(out, "to see details.\n") {
		t.Error(out)
	}
	l.parsed(out)
	l.want("policy -g 9 --get", 251, "The Group is not found")
	l.want("policy -g 0 --set 4,0", 254, "The action must be 0 or 1")
	l.want("policy -g 0 --clear", 0)
	l.want("policy -g 0 --get", 0, "| Violation conditions        | None ")
}

func TestAViolationIsTold(t *testing.T) {
	l := newLab(t)
	l.want("policy -g 0 --set 0,0 -T 80 -x", 0)
	connection, err := net.Dial("tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	json.NewEncoder(connection).Encode([]string{"policy", "-g", "0", "--reg"})
	lines := json.NewDecoder(connection)
	var first frame
	if err := lines.Decode(&first); err != nil || first.Out != "Listening for violations.\n" {
		t.Fatal(err, first)
	}
	l.set("temp=95")
	os.WriteFile(filepath.Join(l.folder, "events"), []byte("xid 0 79 1\n"), 0o600)
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	go l.engine.Watch(ctx)
	connection.SetDeadline(time.Now().Add(10 * time.Second))
	heard := ""
	for !strings.Contains(heard, "XID error 79 detected.") || !strings.Contains(heard, "Temperature: 95") {
		var part frame
		if err := lines.Decode(&part); err != nil {
			t.Fatal(err, heard)
		}
		heard += part.Out
	}
}

func TestConfigurations(t *testing.T) {
	l := newLab(t)
	l.want("config -g 0 --set -P 300 -c 2", 0, "Configuration successfully set.")
	found := l.parsed(l.want("config -g 0 --get -j", 0, "Group of 2 GPUs"))
	limit := found["body"].(map[string]any)["Power Limit"].(map[string]any)["children"].(map[string]any)
	if limit["Target"].(map[string]any)["value"] != "300" {
		t.Error(limit)
	}
	l.want("config -g 0 --get -v", 0, "GPU ID: 1", "E. Process")
	l.want("config -g 5 --set -e 1", 251)
	l.want("config -g 5 --get", 253)
}

func TestJobs(t *testing.T) {
	l := newLab(t)
	l.want("stats -g 0 -e", 0, "Successfully started process watches.")
	l.want("stats -g 0 -s run1", 0, "Successfully started recording stats for run1.")
	l.want("stats -g 0 -s run1", 230, "Duplicate Key")
	l.want("stats -j run1", 0, "| Still Running ")
	l.want("stats -x run1", 0)
	l.want("stats -v -j run1", 0, "| GPU ID: 0 ", "| GPU ID: 1 ", "| Overall Health                     | Healthy ")
	l.want("stats -j none", 242, "No data is available")
	l.want("stats -r run1", 0, "Successfully removed job run1.")
	l.want("stats -x run1", 242, "Job run1 was not found.")
}

func TestMonitorAndProfile(t *testing.T) {
	l := newLab(t)
	out := l.want("dmon -e 203,155,1002 -c 2 -d 1", 0, "#Entity", "GPUTL", "GPU 0", "GPU 1")
	if strings.Count(out, "GPU 0") != 2 {
		t.Error(out)
	}
	l.want("dmon -e 99999 -c 1", 255)
	l.want("profile --list -j", 0, `"value": "sm_active"`)
	l.want("profile --pause", 0, "Successfully paused profiling.")
	l.want("profile --resume", 0, "Successfully resumed profiling.")
	l.want("modules -l -j", 0, `"Status: Success"`)
}

func TestHealthAndDiagnostics(t *testing.T) {
	l := newLab(t)
	l.want("health -c", 253, "Health watches not enabled")
	l.want("health -s a", 0)
	l.want("health -c -j", 0, `"value": "Healthy"`)
	l.parsed(l.want("diag -r 1 -j", 0, `"name": "software"`, `"status": "Pass"`))
	l.want("diag -r nothing", 254)
	l.want("diag -r 1 -j -g 9", 251, "runtime_error")
	l.set("xid=31")
	l.want("diag -r 1 -j", 226, "Detected XID 31 for GPU 0", `"error_id": 101`)
	l.want("health -c -j", 0, `"value": "Failure"`, "Driver")
	l.set("ecc_dbe=2")
	l.want("diag -r 2 -j", 205, "Detected 2 volatile double-bit ECC error(s) in GPU 0.", `"status": "Fail"`)
	l.want("diag -r software -j -i 1", 0)
}

func TestNoEngine(t *testing.T) {
	var out bytes.Buffer
	code := Ask([]string{"discovery", "-l", "--host", "127.0.0.1:1"}, gpustate.Paths{}, &out, &out)
	if code != 235 || !strings.Contains(out.String(), "Unable to connect to host engine. Host engine connection invalid/disconnected.") {
		t.Error(code, out.String())
	}
	l := newLab(t)
	out.Reset()
	if code := Ask([]string{"diag", "-r", "1", "-j", "--host", "127.0.0.1:1"}, pathsIn(l.folder), &out, &out); code != 235 {
		t.Error("a named engine that does not answer is replaced", code, out.String())
	}
	out.Reset()
	if code := Ask([]string{"diag", "-r", "1", "-j"}, pathsIn(l.folder), &out, &out); code != 0 || !strings.Contains(out.String(), `"status": "Pass"`) {
		t.Error("a diagnostic has no engine of its own", code, out.String())
	}
	l.want("--version", 0, "version: 4.6.0")
	l.want("nothing", 255, "ERROR: Invalid subsystem.")
	l.want("group", 254)
}
