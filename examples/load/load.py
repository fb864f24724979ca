"""Compute on one GPU until the end: a load that dashboards, `gpustack gpu top` and `gpustack profile` show.

Only Python and the CUDA driver (libcuda.so.1, which NVIDIA's container toolkit mounts) are needed. From compute
capability 8.0 on the tensor cores multiply matrices of ones in FP16, on older GPUs the FP32 units add ones. Each result
is compared with the one that is right. `/metrics` on port 8000 has the number of kernels, and the memory that this
program allocated: what DCGM_FI_DEV_FB_USED shows beyond it, the driver needs.

    LOAD_MEMORY_MIB  memory to allocate (1024)
    LOAD_BUSY        share of time that computes, 0.05 to 1 (1)
    LOAD_SECONDS     end after so many seconds (3600)
"""

import ctypes
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

PORT, THREADS, BLOCKS_PER_SM, ROUNDS = 8000, 256, 8, 4096
MULTIPROCESSORS, CAPABILITY_MAJOR = 16, 75
"""Numbers of attributes in CUdevice_attribute of cuda.h."""
HEAD = """.version 7.0
.target {target}
.address_size 64
.visible .entry load(.param .u64 results, .param .u32 rounds)
{{
  .reg .pred %more;
  .reg .b32 %thread, %block, %size, %number, %left, %one;
  .reg .b64 %address, %offset;
  .reg .f32 %c<4>;
  ld.param.u64 %address, [results];
  ld.param.u32 %left, [rounds];
  mov.u32 %one, {one};
  mov.f32 %c0, 0f00000000;
  mov.f32 %c1, 0f00000000;
  mov.f32 %c2, 0f00000000;
  mov.f32 %c3, 0f00000000;
again:
"""
TENSOR = (
    "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n"
    "    {%c0, %c1, %c2, %c3}, {%one, %one, %one, %one}, {%one, %one}, {%c0, %c1, %c2, %c3};\n"
)
SINGLE = "  add.f32 %c0, %c0, 0f3f800000;\n"
TAIL = """  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra again;
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mad.lo.u32 %number, %block, %size, %thread;
  mul.wide.u32 %offset, %number, 4;
  add.u64 %address, %address, %offset;
  st.global.f32 [%address], %c0;
  ret;
}
"""
# Two halves of 1.0, and what one round adds: a row of 16 ones times a column of 16 ones.
KERNELS = {
    "tensor": (HEAD.format(target="sm_80", one="0x3c003c00") + TENSOR + TAIL, 16),
    "fp32": (HEAD.format(target="sm_50", one="0") + SINGLE + TAIL, 1),
}


class Gpu:
    """Hold a context of the CUDA driver on the first GPU that is visible."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the driver. Raise RuntimeError with its name for an error."""
        if code := getattr(self.cuda, name)(*arguments):
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown').decode()} ({code})")

    def read_attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def allocate(self, size: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def load_kernel(self, source: str) -> ctypes.c_void_p:
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(source.encode()))
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"load")
        return kernel

    def run_kernel(self, kernel: ctypes.c_void_p, blocks: int, results: ctypes.c_uint64) -> None:
        rounds = ctypes.c_uint32(ROUNDS)
        parameters = (ctypes.c_void_p * 2)(
            *(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in (results, rounds))
        )
        self.call("cuLaunchKernel", kernel, blocks, 1, 1, THREADS, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")

    def copy_results(self, results: ctypes.c_uint64, count: int) -> list[float]:
        values = (ctypes.c_float * count)()
        self.call("cuMemcpyDtoH_v2", values, results, ctypes.c_size_t(ctypes.sizeof(values)))
        return list(values)


class Page(BaseHTTPRequestHandler):
    """Serve the metrics of the load."""

    counts: ClassVar[dict[str, int]] = {"kernels": 0, "memory": 0}

    def do_GET(self) -> None:
        text = (
            "# HELP gpu_load_kernels_total Kernels whose result was right.\n# TYPE gpu_load_kernels_total counter\n"
            f"gpu_load_kernels_total {self.counts['kernels']}\n"
            "# HELP gpu_load_memory_allocated_bytes Memory that this program allocated on its GPU.\n"
            "# TYPE gpu_load_memory_allocated_bytes gauge\n"
            f"gpu_load_memory_allocated_bytes {self.counts['memory']}\n"
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Log no scrape."""


def main() -> None:
    busy = min(max(float(os.environ.get("LOAD_BUSY", "1")), 0.05), 1.0)
    memory = int(os.environ.get("LOAD_MEMORY_MIB", "1024")) << 20
    end = time.monotonic() + float(os.environ.get("LOAD_SECONDS", "3600"))
    gpu = Gpu()
    name = "tensor" if gpu.read_attribute(CAPABILITY_MAJOR) >= 8 else "fp32"
    source, step = KERNELS[name]
    kernel, blocks = gpu.load_kernel(source), gpu.read_attribute(MULTIPROCESSORS) * BLOCKS_PER_SM
    size = max(memory, blocks * THREADS * 4)
    results = gpu.allocate(size)
    Page.counts["memory"] = size
    threading.Thread(target=ThreadingHTTPServer(("", PORT), Page).serve_forever, daemon=True).start()
    sys.stderr.write(f"load {name}: {blocks} blocks of {THREADS} threads, {size >> 20} MiB, busy {busy:.0%}\n")
    while (began := time.monotonic()) < end:
        while time.monotonic() - began < busy:
            gpu.run_kernel(kernel, blocks, results)
            Page.counts["kernels"] += 1
        values = gpu.copy_results(results, blocks * THREADS)
        if set(values) != {float(step * ROUNDS)}:
            raise RuntimeError(f"wrong results: {sorted(set(values))[:3]}, expected {float(step * ROUNDS)}")
        time.sleep(1 - busy)
    sys.stderr.write(f"{Page.counts['kernels']} kernels, all results right\n")


if __name__ == "__main__":
    main()
