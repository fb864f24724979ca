/* What `modinfo nvidia` reads: an object file with the strings of a module. It has no code, and no kernel can load it. */
#define INFO(name, text)                                                                                               \
    static const char name[] __attribute__((section(".modinfo"), used, aligned(1))) = #name "=" text

INFO(license, "Dual MIT/GPL");
INFO(version, DRIVER_VERSION);
INFO(description, "SIMULATED NVIDIA kernel module of gpustack's lab: nothing to load");
INFO(alias, "pci:v000010DEd*sv*sd*bc03sc02i00*");
INFO(name, "nvidia");
