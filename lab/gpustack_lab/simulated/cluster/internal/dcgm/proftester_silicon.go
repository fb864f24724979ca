package dcgm

import (
	"fmt"

	"gpustack.local/simulated/cluster/internal/telemetry"
)

// chip is what a CUDA program asks a GPU for. `shared` in bytes for each SM; `tensor` is operations of the tensor cores
// for each SM and clock, FP16. Figures as in the makers' data sheets.
type chip struct{ threads, shared, tensor, sms int }

var chips = map[int]chip{
	75: {1024, 65536, 1024, 40}, 80: {2048, 167936, 2048, 108}, 86: {1536, 102400, 1024, 84},
	89: {1536, 102400, 1024, 142}, 90: {2048, 233472, 4096, 132}, 100: {2048, 233472, 8192, 148},
}

// silicon is by compute capability, of its largest chip: what is printed of it is a message, no measurement.
func silicon(reading telemetry.Reading) chip {
	number := int(numeric(63, reading))
	if found, ok := chips[number>>16*10+number&0xffff]; ok {
		return found
	}
	return chips[90]
}

// gflops is the highest rate of the units that a field is about.
func gflops(field int, reading telemetry.Reading) float64 {
	perClock := map[int]int{1006: 128, 1007: 256, 1008: 512}[field]
	if field == 1004 {
		perClock = silicon(reading).tensor
	}
	return float64(perClock*silicon(reading).sms) * numeric(100, reading) / 1000
}

// bus is the width of the memory's, in bits.
func bus(reading telemetry.Reading) int {
	if reading.Model.HBM {
		return 5120
	}
	return 384
}

func bandwidth(reading telemetry.Reading) float64 {
	return reading.Model.Memory * 1e6 * 2 * float64(bus(reading)) / 8
}

// messages are the worker's, which are printed when it has finished.
func messages(reading telemetry.Reading) string {
	uuid, is := reading.GPU.UUID, silicon(reading)
	number := int(numeric(63, reading))
	const attribute = "CU_DEVICE_ATTRIBUTE_"
	return fmt.Sprintf("Set CUDA_VISIBLE_DEVICES to %s\nBus ID %s mapped to cuda device ID 0\n", uuid, telemetry.BusID(reading.GPU.Bus)) +
		"DCGM CudaContext Init completed successfully.\n\n" +
		fmt.Sprintf("%sMAX_THREADS_PER_MULTIPROCESSOR: %d\nCUDA_VISIBLE_DEVICES: %s\n", attribute, is.threads, uuid) +
		fmt.Sprintf("%sMULTIPROCESSOR_COUNT: %d\n", attribute, is.sms) +
		fmt.Sprintf("%sMAX_SHARED_MEMORY_PER_MULTIPROCESSOR: %d\n", attribute, is.shared) +
		fmt.Sprintf("%sCOMPUTE_CAPABILITY_MAJOR: %d\n", attribute, number>>16) +
		fmt.Sprintf("%sCOMPUTE_CAPABILITY_MINOR: %d\n", attribute, number&0xffff) +
		fmt.Sprintf("%sGLOBAL_MEMORY_BUS_WIDTH: %d\n", attribute, bus(reading)) +
		fmt.Sprintf("%sMEMORY_CLOCK_RATE: %.0f\n", attribute, reading.Model.Memory) +
		fmt.Sprintf("Max Memory bandwidth: %.0f bytes (%.1f GiB)\n", bandwidth(reading), bandwidth(reading)/1e9) +
		fmt.Sprintf("%sECC_SUPPORT: %t\n", attribute, numeric(300, reading) != 0)
}
