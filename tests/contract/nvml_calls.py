"""Calls of NVML for test_simulated_driver.py, with structures declared from NVML's documentation: LIBRARY EVENTS."""

import ctypes
import sys
from ctypes import byref, c_char, c_int, c_uint, c_ulonglong, c_void_p

nvml = ctypes.CDLL(sys.argv[1])


class Pci(ctypes.Structure):
    _fields_ = [
        ("legacy", c_char * 16),
        *((name, c_uint) for name in ("domain", "bus", "device", "id", "subsystem")),
        ("bus_id", c_char * 32),
    ]


class Event(ctypes.Structure):
    _fields_ = [("device", c_void_p), ("type", c_ulonglong), ("data", c_ulonglong), ("gi", c_uint), ("ci", c_uint)]


def ask(name: str, *arguments: object) -> None:
    code = getattr(nvml, f"nvml{name}")(*arguments)
    assert code == 0, f"{name}: {code}"


def call_text(name: str, *arguments: object) -> str:
    into = ctypes.create_string_buffer(96)
    ask(name, *arguments, into, 96)
    return into.value.decode()


def number(name: str, *arguments: object, kind: type[c_uint] | type[c_ulonglong] = c_uint) -> int:
    value = kind()
    ask(name, *arguments, byref(value))
    return value.value


assert nvml.nvmlDeviceGetCount_v2(byref(c_uint())) == 1  # uninitialised
ask("Init_v2")
cuda = c_int()
ask("SystemGetCudaDriverVersion_v2", byref(cuda))
print("driver", call_text("SystemGetDriverVersion"), "cuda", cuda.value, "count", number("DeviceGetCount_v2"))
gpu, second_gpu = c_void_p(), c_void_p()
for index in range(2):
    ask("DeviceGetHandleByIndex_v2", index, byref(gpu))
    pci, memory, rates = Pci(), (c_ulonglong * 3)(), (c_uint * 2)()
    ask("DeviceGetPciInfo_v3", gpu, byref(pci))
    ask("DeviceGetMemoryInfo", gpu, memory)
    ask("DeviceGetUtilizationRates", gpu, rates)
    ask("DeviceGetHandleByUUID", call_text("DeviceGetUUID", gpu).encode(), byref(second_gpu))
    assert second_gpu.value == gpu.value
    print(
        index,
        call_text("DeviceGetUUID", gpu),
        call_text("DeviceGetName", gpu),
        pci.bus_id.decode(),
        f"{pci.id:08x}",
        end=" ",
    )
    print(f"{pci.domain:x}:{pci.bus:x}:{pci.device:x}", pci.legacy.decode())
    print("memory", memory[0], memory[2], "temperature", number("DeviceGetTemperature", gpu, 0), end=" ")
    print("power", number("DeviceGetPowerUsage", gpu), "utilization", rates[0], end=" ")
    print("ecc", number("DeviceGetTotalEccErrors", gpu, 1, 0, kind=c_ulonglong), end=" ")
    print("reasons", number("DeviceGetCurrentClocksEventReasons", gpu, kind=c_ulonglong), end=" ")
    print("clock", number("DeviceGetClockInfo", gpu, 1))
assert nvml.nvmlDeviceGetHandleByIndex_v2(2, byref(second_gpu)) == 2  # no such index
assert nvml.nvmlDeviceGetName(c_void_p(1), ctypes.create_string_buffer(9), 9) == 2  # no such handle
assert nvml.nvmlDeviceGetName(gpu, ctypes.create_string_buffer(9), 9) == 7  # too small
rows = [c_uint() for _ in range(4)]
ask("DeviceGetRemappedRows", gpu, *map(byref, rows))
mig, later = c_uint(), c_uint()
ask("DeviceGetMigMode", gpu, byref(mig), byref(later))
max_count = number("DeviceGetMaxMigDeviceCount", gpu)
fan = nvml.nvmlDeviceGetFanSpeed(gpu, byref(c_uint()))
print("remapped", *(row.value for row in rows), "mig", mig.value, "of", max_count, "fan", fan)
events, event = c_void_p(), Event()
ask("EventSetCreate", byref(events))
ask("DeviceRegisterEvents", gpu, c_ulonglong(8), events)
with open(sys.argv[2], "a") as file:  # noqa: PTH123 - as little as can be
    file.write("xid 0 79 1795308163\nxid 1 0 1795308163\nnoise\nxid 1 31 1795308163\nxid 1 4")
ask("EventSetWait_v2", events, byref(event), 2000)
print("event", event.type, event.data, "of", number("DeviceGetIndex", c_void_p(event.device)))
print("no event", nvml.nvmlEventSetWait_v2(events, byref(event), 150))
ask("EventSetFree", events)
ask("Shutdown")
