// vectoradd is the SIMULATED CUDA sample vectorAdd: it says what the sample says and adds on the CPU, but only where a
// GPU would be usable: its device node is here and it has not fallen off the bus.
package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// Length of the vectors and threads in a block, as in the sample.
const (
	elements = 50000
	threads  = 256
)

func main() { os.Exit(run(gpustate.PathsFrom(os.Getenv), os.Stdout, os.Stderr)) }

func run(paths gpustate.Paths, out, errs io.Writer) int {
	fmt.Fprintf(out, "[Vector addition of %d elements]\n", elements)
	if !usable(paths) {
		fmt.Fprintln(errs, "Failed to allocate device vector A (error code no CUDA-capable device is detected)!")
		return 1
	}
	fmt.Fprintln(out, "Copy input data from the host memory to the CUDA device")
	a, b := random(), random()
	fmt.Fprintf(out, "CUDA kernel launch with %d blocks of %d threads\n", (elements+threads-1)/threads, threads)
	c := add(a, b)
	fmt.Fprintln(out, "Copy output data from the CUDA device to the host memory")
	for i := range c {
		if math.Abs(float64(a[i]+b[i]-c[i])) > 1e-5 {
			fmt.Fprintf(errs, "Result verification failed at element %d!\n", i)
			return 1
		}
	}
	fmt.Fprint(out, "Test PASSED\nDone\n")
	return 0
}

func usable(paths gpustate.Paths) bool {
	state, err := gpustate.Read(paths.State)
	if err != nil {
		return false
	}
	for _, gpu := range state.GPUs {
		if gpu.Present(paths.Dev) && !gpu.Lost() {
			return true
		}
	}
	return false
}

func random() []float32 {
	out := make([]float32, elements)
	for i := range out {
		out[i] = rand.Float32()
	}
	return out
}

func add(a, b []float32) []float32 {
	out := make([]float32, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}
