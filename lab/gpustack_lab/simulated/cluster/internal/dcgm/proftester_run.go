package dcgm

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gpustack.local/simulated/cluster/internal/gpustate"
	"gpustack.local/simulated/cluster/internal/telemetry"
)

var nan = math.NaN()

// tester runs one test after the other. A GPU's id is its place among those that this container has.
type tester struct {
	engine   *Engine
	paths    gpustate.Paths
	settings options
	signals  <-chan os.Signal
	out      *bufio.Writer
	ended    bool // by a signal
	titled   bool // the test's heading is printed
}

// worker is one GPU under a test.
type worker struct {
	id       int
	reading  telemetry.Reading
	failed   bool
	measured []float64
}

func (t *tester) print(format string, values ...any) { fmt.Fprintf(t.out, format, values...) }

// log is an error on the console, whose lines have the shape of common/DcgmLoggingImpl.h (DcgmLogFormatter); plog's
// ConsoleAppender flushes.
func (t *tester) log(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	now := time.Now().Format("2006-01-02 15:04:05.000")
	t.print("%s ERROR [%d:%d] %s [DcgmProfTester.cpp:0] [SIMULATED]\n", now, os.Getpid(), os.Getpid(), text)
	t.out.Flush()
}

// report is a line that is logged as well.
func (t *tester) report(format string, values ...any) {
	t.print(format+"\n", values...)
	t.log(format, values...)
}

func (t *tester) workers() []*worker {
	var out []*worker
	for id, reading := range t.engine.readings(time.Now()) {
		out = append(out, &worker{id: id, reading: reading})
	}
	return out
}

// unknown says what is wrong with --gpuIds, "" where nothing is.
func (t *tester) unknown(ids string) string {
	if ids == "" || ids == "all" {
		return ""
	}
	for word := range strings.SplitSeq(ids, ",") {
		id, err := strconv.Atoi(word)
		if err != nil {
			return "Invalid GPU ID: " + word
		}
		if id < 0 || id >= len(t.workers()) {
			return fmt.Sprintf("failed to get chip architecture for GPU ID %d, error: %d", id, stBadParam)
		}
	}
	return ""
}

// test runs one field on all chosen GPUs, so many of them at a time as --max-processes says.
func (t *tester) test(field int) int {
	workers := slices.DeleteFunc(t.workers(), func(w *worker) bool {
		ids := t.settings["gpuIds"]
		return ids != "" && ids != "all" && !slices.Contains(strings.Split(ids, ","), strconv.Itoa(w.id))
	})
	if len(workers) == 0 {
		t.log("DCGM found 0 GPUs. There's nothing to test on.")
		t.log("Error %d from InitializeGpus(). Exiting.", stGeneric)
		return stGeneric
	}
	one, ok := t.find(field)
	if field == 1011 || field == 1012 {
		t.report("gpuId %d has no NvLink peers. Skipping test.", workers[0].id)
		t.log("Error %d from RunTests(). Exiting.", stNotSupported)
		return stOK
	}
	if !ok {
		t.report("A test for fieldId %d has not been implemented yet.", field)
		t.log("Error %d from RunTests(). Exiting.", stGeneric)
		return stGeneric
	}
	most := int(t.settings.float("max-processes", 4))
	if field == 1009 || field == 1010 {
		most = 1
	}
	if most == 0 {
		most = len(workers)
	}
	t.titled = false
	for group := range slices.Chunk(workers, most) {
		if err := t.load(field, one, group); err != nil {
			t.log("%s", err)
			t.log("Error %d from RunTests(). Exiting.", stGeneric)
			return stGeneric
		}
	}
	return t.verdict(field, workers)
}

func (t *tester) verdict(field int, workers []*worker) int {
	code := stOK
	for i, w := range workers { // the source counts anew here: not the GPU's id
		if w.failed {
			t.report("GPU %d, TestField %d testing FAILED.", i, field)
			t.report("GPU %d, TestField %d test FAILED.", i, field)
			code = stGeneric
		} else {
			t.print("GPU %d, TestField %d test PASSED.\n", i, field)
		}
	}
	if code != stOK {
		t.log("Error %d from RunTests(). Exiting.", code)
	}
	return code
}

// load keeps the GPUs busy, and prints a line of each at every interval.
func (t *tester) load(field int, one profTest, group []*worker) error {
	for _, w := range group {
		busy, err := gpustate.Work(t.paths.State, w.reading.GPU, field)
		if err != nil {
			return err
		}
		defer busy.Close()
	}
	interval := t.settings.float("report", 1)
	count := one.count(t.settings.float("duration", 30), interval)
	begun := time.Now()
	for activity := range count {
		select {
		case caught := <-t.signals:
			t.ended = true
			t.print("Received signal %d\n", caught.(syscall.Signal))
			return fmt.Errorf("select was interrupted")
		case <-time.After(time.Duration(interval * float64(time.Second))):
		}
		now := t.workers()
		for _, w := range group {
			at := slices.IndexFunc(now, func(one *worker) bool { return one.reading.GPU.UUID == w.reading.GPU.UUID })
			if w.failed = w.failed || at < 0; w.failed {
				continue
			}
			w.reading = now[at].reading
			t.line(field, one, w, tick{title: one.title, activity: activity, of: count, seconds: time.Since(begun).Seconds()})
		}
	}
	for _, w := range group {
		if t.reports() && !w.failed {
			t.print("Worker %d:0[%d]: Message: %s", w.id, field, messages(w.reading))
		}
		t.keep(one, w)
	}
	return nil
}

func (t *tester) reports() bool {
	return !slices.Contains(strings.Split(t.settings["mode"], ","), "noreport")
}

// keep writes the file of EndSubtest into the working directory; one that is read-only gives an error and no failure.
func (t *tester) keep(one profTest, w *worker) {
	word := map[bool]string{true: "FAILED", false: "PASSED"}[w.failed]
	name := fmt.Sprintf("%s_%d.results", one.tag, w.id)
	text := fmt.Sprintf("# TestTitle: %q\n# Columns: \"generated\", \"dcgm\"\n", one.title)
	for _, value := range w.measured {
		text += fmt.Sprintf("0.000, %.3f\n", value)
	}
	text += fmt.Sprintf("# TestResult: %s\n# TestResultReason: \n", word)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		number := 0
		if cause, ok := err.(*os.PathError).Err.(syscall.Errno); ok {
			number = int(cause)
		}
		t.report("Unable to open %s (errno %d). Can't write test results file.", name, number)
		return
	}
	if t.settings.has("dvs") {
		t.print("&&&& %s %s\n", word, one.tag)
	}
}
