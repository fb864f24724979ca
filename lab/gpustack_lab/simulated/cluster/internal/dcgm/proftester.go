package dcgm

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// Wordings, options and exit statuses of dcgmproftester are from NVIDIA/DCGM v4.6.0, dcgmproftester/: Arguments.h and
// Arguments.cpp (options), DcgmProfTester.cpp (main, order, verdicts), PhysicalGpu.cpp (lines), DistributedCudaContext.cpp
// (how many lines, messages). Never compared with a live one.

const proftesterVersion = "2.0.0" // DcgmProfTester.h

// block is st_blksize of a pipe, of which the C library makes its buffer.
const block = 4096

// maxCUDA is MAX_CUDA_MAJOR_VERSION of common/DcgmBuildInfo.hpp.
const maxCUDA = 13

const proftesterOptions = "w:wait-to-check= max-processes= percent-tolerance= a:absolute-tolerance= min-value= " +
	"m:match-value= max-value= d:duration= r:report= target-max-value no-dcgm-validation dvs cublas t:fieldId= i:gpuIds= " +
	"mode= sync-count= log-file= log-level= version"

// Proftester is dcgmproftester<CUDA> with a command line; it returns what main does. Signals end it as they end the real
// one: after SIGTERM and SIGHUP it says so and fails, of SIGINT and SIGKILL it dies. The GPUs are idle then in any case.
// Lines go out in blocks, as C++ has them for a pipe: of a test that is killed, the last ones are lost.
func Proftester(cuda int, arguments []string, paths gpustate.Paths, stdout, errs io.Writer) int {
	out := bufio.NewWriterSize(stdout, block)
	defer out.Flush()
	chosen, err := parseTests(arguments)
	if err != nil {
		// TCLAP's StdOutput prints the usage, too, and ends with 1.
		fmt.Fprintf(errs, "PARSE ERROR: %s\n", err)
		return 1
	}
	if chosen == nil {
		fmt.Fprintf(out, "\ndcgmproftester  version: %s\n\n", proftesterVersion)
		return stOK
	}
	fields := make([][]int, len(chosen))
	for i, one := range chosen {
		if fields[i], err = fieldsOf(one); err != nil {
			fmt.Fprintf(errs, "Command line parsing failed.\nError %d from Init(). Exiting.\n", stBadParam)
			return stBadParam
		}
	}
	state, err := gpustate.Read(paths.State)
	if err != nil { // the driver's libraries come with the GPU
		fmt.Fprintf(errs, "dcgmproftester%d: error while loading shared libraries: libcuda.so.1: "+
			"cannot open shared object file: No such file or directory\n", cuda)
		return 127
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	t := &tester{engine: New(paths), paths: paths, signals: signals, out: out}
	if text := t.unknown(chosen[len(chosen)-1]["gpuIds"]); text != "" {
		fmt.Fprintf(errs, "Error [%s] from taking GPUs with Maxwell, Pascal, or Volta architecture. Exiting.\n", text)
		return stGeneric
	}
	switch installed := state.CUDA / 1000; {
	case installed > maxCUDA && cuda == maxCUDA:
		fmt.Fprintf(out, "Running version %d binary with CUDA driver version %d.\n", cuda, installed)
	case installed != cuda:
		fmt.Fprintf(errs, "Wrong version of dcgmproftester is used. Expected Cuda version is %d. "+
			"Installed Cuda version is %d.\n", cuda, installed)
		return stVersion
	}
	code := stOK
	for i, one := range chosen {
		t.settings = one
		for _, field := range fields[i] {
			if t.test(field) != stOK {
				code = stGeneric
			}
			if t.ended {
				return stGeneric
			}
		}
	}
	if code == stOK {
		fmt.Fprintln(out, "All Tests Passed.")
	}
	return code
}

// parseTests gives the options of each test: every --fieldId after the first ends one, and the next has its options, too.
// nil stands for --version.
func parseTests(arguments []string) ([]options, error) {
	var ends []int
	for i, word := range arguments {
		if i > 0 && (word == "--fieldId" || strings.HasPrefix(word, "--fieldId=") || strings.HasPrefix(word, "-t")) {
			ends = append(ends, i)
		}
	}
	var out []options
	for _, end := range append(ends, len(arguments)) {
		one, err := parse(arguments[:end], proftesterOptions)
		if err != nil {
			return nil, err
		}
		if one.has("version") {
			return nil, nil
		}
		if err := one.check(); err != nil {
			return nil, err
		}
		if _, given := one["fieldId"]; given || end == len(arguments) {
			out = append(out, one)
		}
	}
	return out, nil
}

// check is the constraints of Arguments.h, and that nothing is asked for which is not simulated.
func (o options) check() error {
	for _, one := range []struct {
		name        string
		least, most float64
	}{{"duration", 1, 1e9}, {"report", 0.001, 10}, {"max-processes", 0, 255}, {"sync-count", 0, 10}} {
		if value := o.float(one.name, one.least); !(value >= one.least && value <= one.most) {
			return fmt.Errorf("Argument: (--%s)\n             Value '%s' does not meet constraint", one.name, o[one.name])
		}
	}
	for word := range strings.SplitSeq(o["mode"], ",") {
		if word == "validate" || word == "fast" || word == "nogenerateload" {
			return fmt.Errorf("Argument: (--mode)\n             SIMULATED: %s is not simulated", word)
		}
	}
	return nil
}

// float is NaN for what is no number.
func (o options) float(name string, otherwise float64) float64 {
	if !o.has(name) {
		return otherwise
	}
	value, err := strconv.ParseFloat(o[name], 64)
	if err != nil {
		return nan
	}
	return value
}

// fieldsOf reads --fieldId. Source: ArgumentSet_t::ProcessFieldIds; the ranges: dcgmlib/dcgm_fields_internal.hpp.
func fieldsOf(one options) ([]int, error) {
	first, last := 1001, 1096
	switch one["fieldId"] {
	case "nvlink":
		first, last = 1011, 1012
	case "nonvlink":
		last = 1010
	case "all", "":
	default:
		var out []int
		for word := range strings.SplitSeq(strings.TrimSuffix(one["fieldId"], ","), ",") {
			field, err := strconv.ParseUint(word, 10, 16)
			if err != nil || int(field) < first || int(field) > last {
				return nil, fmt.Errorf("%q is no profiling field", word)
			}
			out = append(out, int(field))
		}
		return out, nil
	}
	var out []int
	for field := first; field <= last; field++ {
		out = append(out, field)
	}
	return out, nil
}
