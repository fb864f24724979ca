package gpustate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const two = `driver 595.91.07
cuda 13020
later something that this program does not know
gpu uuid=GPU-a bus=0000:65:00.0 minor=3 name=NVIDIA_H100_80GB_HBM3 mem=81559 temp=61.5 odd=x
gpu uuid=GPU-b bus=0000:66:00.0 name=NVIDIA_L4 lost=1
`

func TestParse(t *testing.T) {
	state, err := Parse(two)
	if err != nil || state.Driver != "595.91.07" || state.CUDA != 13020 || len(state.GPUs) != 2 {
		t.Fatalf("%+v, %v", state, err)
	}
	first, second := state.GPUs[0], state.GPUs[1]
	if first.Index != 0 || first.Minor != 3 || first.Name != "NVIDIA H100 80GB HBM3" || first.Lost() {
		t.Errorf("first: %+v", first)
	}
	if second.Index != 1 || second.Minor != 1 || !second.Lost() {
		t.Errorf("second: %+v", second)
	}
	if temp, ok := first.Number("temp"); !ok || temp != 61.5 {
		t.Errorf("temp %v %t", temp, ok)
	}
	if _, ok := first.Number("odd"); ok {
		t.Error("a word passes for a number")
	}
	if _, ok := first.Number("power"); ok {
		t.Error("a key that is not there has a value")
	}
}

func TestHalfWrittenState(t *testing.T) {
	for _, text := range []string{
		"",
		"driver 1\ngpu uuid=GPU-a bus=0000:65:00.0 name=X",
		"cuda 13020\n",
		"driver 1\ngpu uuid=GPU-a bus=0000:65:00.0\n",
		"driver 1\ngpu uuid=GPU-a bus=0000:65:00.0 name=X mi\n",
		"driver 1\ngpu uuid=GPU-a bus=0000:65:00.0 name=X minor=-1\n",
		"driver 1\ngpu uuid=GPU-a bus=0000:65:00.0 name=X =5\n",
		"driver 1\ncuda thirteen\n",
		"driver 1\nload 1004 util\n",
		"driver 1\nload all util=1\n",
	} {
		if state, err := Parse(text); err == nil {
			t.Errorf("%q: %+v", text, state)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(two)
	f.Add("driver 1\ngpu uuid=a bus=b name=c minor=99999999999999999999\n")
	f.Add("gpu \x00=\nxid 0 79 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		state, err := Parse(text)
		if err != nil && len(state.GPUs) != 0 {
			t.Error("GPUs beside an error")
		}
		for index, gpu := range state.GPUs {
			if gpu.Index != index || gpu.Minor < 0 || gpu.UUID == "" || strings.ContainsAny(gpu.UUID+gpu.Bus, " \n") {
				t.Errorf("%+v", gpu)
			}
		}
	})
}

func TestVisibleByDeviceNode(t *testing.T) {
	state, _ := Parse(two)
	dev := t.TempDir()
	if got := Visible(state.GPUs, dev); len(got) != 2 {
		t.Errorf("without any node: %+v", got)
	}
	touch(t, filepath.Join(dev, "nvidia3"), "")
	touch(t, filepath.Join(dev, "nvidiactl"), "")
	if got := Visible(state.GPUs, dev); len(got) != 1 || got[0].UUID != "GPU-a" {
		t.Errorf("with nvidia3: %+v", got)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	touch(t, path, "xid 0 31 1700000000\n")
	tail := NewTail(path)
	expect := func(what string, codes ...int) {
		t.Helper()
		events, err := tail.New()
		if err != nil || len(events) != len(codes) {
			t.Fatalf("%s: %+v, %v", what, events, err)
		}
		for i, code := range codes {
			if events[i].Code != code {
				t.Errorf("%s: %+v", what, events)
			}
		}
	}
	expect("what was before is not told")
	touch(t, path, "xid 1 79 1700000001\nnonsense\nxid 1 4")
	expect("a whole line", 79)
	touch(t, path, "8 1700000002\n")
	expect("the rest of a line", 48)
	if err := os.WriteFile(path, []byte("xid 0 13 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("written anew", 13)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("gone")
}

// touch appends text to the file at path.
func touch(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestWorkEndsWithItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	touch(t, path, "driver 1\nload 1004 util=100 tensor=0.9\n"+
		"gpu uuid=a bus=b name=c minor=1\ngpu uuid=d bus=e name=f minor=2 tensor=0.2\n")
	os.Chmod(path, 0o400)
	expect := func(gpu int, key string, number float64) {
		t.Helper()
		state, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := state.GPUs[gpu].Number(key); got != number {
			t.Errorf("GPU %d: %s=%v", gpu, key, got)
		}
	}
	state, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	first, err := Work(path, state.GPUs[0], 1004)
	if err != nil {
		t.Fatal(err)
	}
	expect(0, "util", 100)
	expect(1, "util", 0)
	second, err := Work(path, state.GPUs[1], 1004)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	expect(0, "util", 0)
	expect(1, "util", 100)
	expect(1, "tensor", 0.2) // what the lab set stays
	second.Close()
	expect(1, "util", 0)
}
