package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// By its name this test is the program.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "dcgm") && !strings.Contains(os.Args[0], ".test") {
		main()
	}
	os.Exit(m.Run())
}

const lab = "driver 595.91.07\ncuda 13020\nload 1004 util=100 gr=1 tensor=0.93\n" +
	"gpu uuid=GPU-a bus=0000:65:00.0 minor=0 name=NVIDIA_H100_80GB_HBM3 cc=9.0\n" +
	"gpu uuid=GPU-b bus=0000:66:00.0 minor=1 name=NVIDIA_H100_80GB_HBM3 cc=9.0 tensor=0.4\n"

// run is a process of dcgmproftester in a folder with the state.
type run struct {
	*exec.Cmd
	t         *testing.T
	state     string
	out, errs bytes.Buffer
}

func prepare(t *testing.T, name, text string, words ...string) *run {
	folder := t.TempDir()
	r := &run{t: t, state: filepath.Join(folder, "state")}
	if err := os.WriteFile(r.state, []byte(text), 0o400); err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.Command(os.Args[0], words...)
	r.Args[0], r.Dir = name, folder
	r.Env = []string{"SIMULATED_GPU_STATE=" + r.state, "SIMULATED_GPU_EVENTS=" + folder + "/events", "SIMULATED_GPU_DEV=" + folder}
	r.Stdout, r.Stderr = &r.out, &r.errs
	return r
}

func (r *run) end() int {
	r.Wait()
	return r.ProcessState.ExitCode()
}

// util is what readers of the state see, by GPU.
func (r *run) util() [2]float64 {
	state, err := gpustate.Read(r.state)
	if err != nil {
		r.t.Fatal(err)
	}
	first, _ := state.GPUs[0].Number("util")
	second, _ := state.GPUs[1].Number("util")
	return [2]float64{first, second}
}

// begin starts it and waits until GPUs are busy.
func (r *run) begin(busy [2]float64) {
	if err := r.Start(); err != nil {
		r.t.Fatal(err)
	}
	for range 500 {
		if r.util() == busy {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.Process.Kill()
	r.t.Fatalf("never %v: %s%s", busy, &r.out, &r.errs)
}

func TestATestOfTensorCores(t *testing.T) {
	t.Parallel()
	r := prepare(t, "dcgmproftester13", lab, "-t", "1004", "-d", "1", "-r", "0.4", "--no-dcgm-validation")
	r.begin([2]float64{100, 100})
	if code := r.end(); code != 0 || r.errs.Len() != 0 {
		t.Fatalf("%d %s%s", code, &r.out, &r.errs)
	}
	if busy := r.util(); busy != [2]float64{} {
		t.Errorf("still busy: %v", busy)
	}
	lines := strings.Split(r.out.String(), "\n")
	for i, want := range []string{
		`Worker 0:0 \[1004\]: TensorEngineActive:  generated \?\?\?, dcgm 0 \(9\.96e\+05 gflops\)\.`,
		`Worker 1:0 \[1004\]: TensorEngineActive:  generated \?\?\?, dcgm 0 \(4\.28e\+05 gflops\)\.`,
	} {
		if !regexp.MustCompile("^" + want + "$").MatchString(lines[i]) {
			t.Errorf("%s", lines[i])
		}
	}
	text := r.out.String()
	if count := strings.Count(text, "TensorEngineActive"); count != 2*4 {
		t.Errorf("%d lines", count)
	}
	const end = "GPU 0, TestField 1004 test PASSED.\nGPU 1, TestField 1004 test PASSED.\nAll Tests Passed.\n"
	if !strings.HasSuffix(text, end) || !strings.Contains(text, "\nWorker 1:0[1004]: Message: Set CUDA_VISIBLE_DEVICES to GPU-b\n") {
		t.Error(text)
	}
	if kept, err := os.ReadFile(filepath.Join(r.Dir, "tensor_active_1.results")); err != nil || !strings.Contains(string(kept), "0.000, 0.400\n") {
		t.Errorf("%s %v", kept, err)
	}
}

func TestItEndsIdleHoweverItEnds(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		signal syscall.Signal
		code   int // -1: it died of the signal
		text   string
	}{
		{syscall.SIGTERM, 253, "Received signal 15\n"}, {syscall.SIGHUP, 253, "Received signal 1\n"},
		{syscall.SIGINT, -1, ""}, {syscall.SIGKILL, -1, ""},
	} {
		r := prepare(t, "dcgmproftester13", lab, "-i", "1", "-t", "1004,1004", "-d", "60", "-r", "0.2")
		r.begin([2]float64{0, 100})
		time.Sleep(500 * time.Millisecond)
		r.Process.Signal(one.signal)
		if code := r.end(); code != one.code || !strings.Contains(r.out.String(), one.text) || one.text == "" && r.out.Len() > 0 {
			t.Errorf("%v: %d %s%s", one.signal, code, &r.out, &r.errs)
		}
		if busy := r.util(); busy != [2]float64{} {
			t.Errorf("%v: still busy", one.signal)
		}
	}
}

func TestAGPUThatFallsOffTheBus(t *testing.T) {
	t.Parallel()
	r := prepare(t, "dcgmproftester13", lab, "-t", "1004", "-d", "2", "-r", "0.5")
	r.begin([2]float64{100, 100})
	os.Chmod(r.state, 0o600)
	file, _ := os.OpenFile(r.state, os.O_WRONLY, 0) // in place, as the lab writes it
	file.WriteString(strings.TrimSuffix(lab, "\n") + " lost=1\n")
	file.Close()
	code := r.end()
	text := r.out.String()
	if code != 253 || !strings.Contains(text, "\nGPU 0, TestField 1004 test PASSED.\nGPU 1, TestField 1004 testing FAILED.\n") ||
		!strings.Contains(text, "\nGPU 1, TestField 1004 test FAILED.\n") || strings.Contains(text, "All Tests") {
		t.Errorf("%d %s", code, text)
	}
}

func TestWhatItRefuses(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name, state string
		words       string
		code        int
		text        string
	}{
		{"dcgmproftester12", lab, "-t 1004", 244, "Expected Cuda version is 12. Installed Cuda version is 13."},
		{"dcgmproftester13", lab, "-t 155", 255, "Command line parsing failed.\nError -1 from Init(). Exiting.\n"},
		{"dcgmproftester13", lab, "-t 1004 -i 2", 253, "Error [failed to get chip architecture for GPU ID 2, error: -1] from"},
		{"dcgmproftester13", lab, "-d 0.5", 1, "PARSE ERROR: Argument: (--duration)"},
		{"dcgmproftester13", lab, "-d soon", 1, "PARSE ERROR: Argument: (--duration)"},
		{"dcgmproftester13", lab, "--burn", 1, "PARSE ERROR: Couldn't find match for argument for arg --burn"},
		{"dcgmproftester13", lab, "--mode validate", 1, "SIMULATED: validate is not simulated"},
		{"dcgmproftester13", "", "-t 1004", 127, "libcuda.so.1"},
		{"dcgmproftester13", "driver 1\ncuda 13020\n", "-t 1004", 253, "DCGM found 0 GPUs. There's nothing to test on."},
		{"dcgmproftester13", lab, "-t 1013", 253, "A test for fieldId 1013 has not been implemented yet.\n"},
		{"dcgmproftester13", lab, "-t nvlink", 0, "gpuId 0 has no NvLink peers. Skipping test.\n"},
		{"dcgmproftester13", lab, "--version", 0, "dcgmproftester  version: 2.0.0"},
	} {
		r := prepare(t, one.name, one.state, strings.Fields(one.words)...)
		r.Run()
		if code := r.ProcessState.ExitCode(); code != one.code || !strings.Contains(r.out.String()+r.errs.String(), one.text) {
			t.Errorf("%s %s: %d %s%s", one.name, one.words, code, &r.out, &r.errs)
		}
	}
}

func TestEachFieldHasItsLines(t *testing.T) {
	const number = `[0-9.e+]+`
	for field, want := range map[string]string{
		"1001": `Worker 0:0 \[1001\]: GrActivity: generated 0\.00/0\.00, dcgm 1 at ` + number + ` seconds\. 0\n`,
		"1002": `^GPU 0: Testing SmActivity scaling by SM count  for 1\.00 seconds\.\n-{57}\n` +
			`Worker 0:0\[1002\]: SmActivity generated 0\.00/0\.00, dcgm 0\.9 at ` + number + ` seconds\. numSms 0 / 132\.\n`,
		"1003": `^GPU 0: Testing SmOccupancy scaling by num threads for 1\.00 seconds\.\n-{61}\n`,
		"1005": `Worker 0:0\[1005\]: DramUtil generated 0\.850/0\.850, dcgm 0\.85 \(2\.85e\+03 GiB/sec\)\. bandwidthDivisor 1\.00\n`,
		"1007": `Worker 0:0\[1007\]: Fp32EngineActive: target max, dcgm 0\.9\n`,
		"1009": `Worker 0:0\[1009\]: PcieTxBytes generated (5\.20e\+04)/\1 \(\1/\1\)\. dcgm 52000 MiB/sec \(82\.5% speed-of-light\), PCIE version/lanes: 5/16\.\n`,
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(lab, "load 1004 util=100", "load "+field+" util=100 dram=0.85 fp32=0.9 pcie_tx=52e9")
			r := prepare(t, "dcgmproftester13", text, "-t", field, "-d", "1", "-r", "0.5", "-i", "0")
			r.Run()
			want = strings.ReplaceAll(want, `\1`, `5\.20e\+04`)
			if !regexp.MustCompile(want).MatchString(r.out.String()) || r.ProcessState.ExitCode() != 0 {
				t.Errorf("%s: %d %s%s", field, r.ProcessState.ExitCode(), &r.out, &r.errs)
			}
		})
	}
}
