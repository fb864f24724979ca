"""Evidence in the kernel, the kubelet, the packages and the files of containerd of a host."""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.doctor.checks.cni.sandbox import list_pods_without_sandbox
from gpustack.doctor.checks.containerd.daemon import list_disabling_files
from gpustack.doctor.checks.containerd.settings import list_ignored_settings
from gpustack.probes.containerd.daemon import CONFIGURATION, DROP_IN, RUNTIME
from gpustack.probes.containerd.pods import RUNTIMES
from gpustack.probes.containerd.tables import CONFIG_TABLES
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.packages import GPU_KERNELS, GPU_PACKAGES
from gpustack.probes.host.system import HOSTNAME, IDENTITY
from gpustack.probes.kernel.boot import BOOT
from gpustack.probes.kubelet.start import START
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pods import SANDBOX_FAILURES, STARTING_PODS
from gpustack.probes.kubernetes.proxy_error import PROXY_ERROR
from gpustack.probes.packages.software import PACKAGES
from gpustack.steps.own_node import find_node

MAIN = "config.toml"


def judge_words(subject: str, message: str, *words: str) -> Result:
    """Judge the message of a program: it shows the cause where it has one of these words."""
    return Result(subject, "of another cause", message or "none", ok=not any(word in message for word in words))


@check("host-cgroup-v1 -> st-kubelet-down", START)
def kubelet_refuses_cgroups(view: View) -> Result:
    """Judge the last error of the kubelet by its words for cgroup v1 (kubernetes/kubernetes pkg/kubelet/kubelet.go)."""
    start = view[START]
    return judge_words("last error of the kubelet", start.message if start else "", "cgroup v1")


@check("host-inotify-exhausted -> kube-proxy-down", PROXY_ERROR)
def proxy_gets_no_watch(view: View) -> Result:
    """Judge the last error of kube-proxy by the kernel's word for a refused inotify instance (inotify_init(2))."""
    error = view[PROXY_ERROR]
    return judge_words("last error of kube-proxy", error.message if error else "", "too many open files")


@check("host-hostname-invalid -> st-kubelet-down", START, HOSTNAME)
def kubelet_refuses_name(view: View) -> Result:
    start, name = view[START], view[HOSTNAME]
    return judge_words("last error of the kubelet", start.message if start else "", name, name.lower())


@check("host-modules-not-persisted -> flannel-br-netfilter-missing", BOOT)
def boot_skips_filter(view: View) -> Result:
    return judge_module(view, "br_netfilter")


@check("host-modules-not-persisted -> containerd-cri-disabled", BOOT)
def boot_skips_overlay(view: View) -> Result:
    return judge_module(view, "overlay")


def judge_module(view: View, module: str) -> Result:
    boot = view[BOOT]
    is_loaded = module in boot.named_modules | boot.builtin
    return Result(f"module {module}", "loaded at boot", "loaded at boot" if is_loaded else "not", ok=is_loaded)


@check("host-reboot-pending-kernel -> vxlan-module-missing", BOOT)
def vxlan_of_another_kernel(view: View) -> Result:
    return judge_other_kernels(view)


@check("host-reboot-pending-kernel -> flannel-br-netfilter-missing", BOOT)
def filter_of_another_kernel(view: View) -> Result:
    return judge_other_kernels(view)


def judge_other_kernels(view: View) -> Result:
    """Judge whether the modules of the running kernel were removed, so that none can be loaded."""
    boot = view[BOOT]
    kernels = [boot.release, *boot.other_kernels] if boot.folder == "whole" else list(boot.other_kernels)
    subject = f"modules of the running kernel {boot.release}"
    return Result(subject, "present", f"for {format_value(kernels)}", ok=boot.folder == "whole")


@check("host-reboot-pending-kernel -> gpu-driver-not-loaded", GPU_KERNELS)
def module_of_another_kernel(view: View) -> Result:
    """Look for the module of the driver that is built for another kernel than the running one."""
    kernels = view[GPU_KERNELS]
    releases = [kernel.release for kernel in kernels.installed_kernels if kernel.module and kernel != kernels.running]
    is_built = bool(kernels.running.module)
    return Result(
        "module nvidia", "built for the running kernel", f"for {format_value(releases)}", ok=is_built or not releases
    )


@check("host-reboot-pending-kernel -> gpu-kernel-headers-missing", GPU_KERNELS)
def headers_of_another_kernel(view: View) -> Result:
    kernels = view[GPU_KERNELS]
    releases = [kernel.release for kernel in kernels.installed_kernels if kernel.headers and kernel != kernels.running]
    has_headers = kernels.running.headers
    return Result(
        "headers", "those of the running kernel", f"of {format_value(releases)}", ok=has_headers or not releases
    )


@check("host-docker-preinstalled -> containerd-cri-disabled", CONFIGURATION)
def docker_disables_cri(view: View) -> Result:
    """Look for the plugin cri among those that config.toml disables, as the file of Docker's package does."""
    return expect_none(
        "files that disable CRI",
        "none of Docker",
        [name for name in list_disabling_files(view) if name == MAIN],
        "none",
    )


@check("host-docker-preinstalled -> multiple-cri-sockets", RUNTIMES)
def docker_serves_cri(view: View) -> Result:
    sockets = [name for name in view[RUNTIMES] if "docker" in name]
    return expect_none("CRI sockets of Docker", "none", sockets, "none")


@check("host-apparmor-parser-missing -> st-sandbox-fails", NODES, IDENTITY, STARTING_PODS, SANDBOX_FAILURES)
def sandboxes_need_parser(view: View) -> Result:
    messages = [view[SANDBOX_FAILURES][pod.uid] for pod in list_pods_without_sandbox(view, find_node(view))]
    return judge_words("messages about sandboxes", " ".join(messages), "apparmor_parser")


@check("containerd-config-key-wrong-schema -> op-nvidia-runtime-handler-missing", RUNTIME, CONFIG_TABLES, PACKAGES)
def ignores_runtime(view: View) -> Result:
    """Look for the runtime nvidia among the ignored settings."""
    if view[RUNTIME] is None:
        raise FactUnavailable("containerd does not respond, and so does not say which settings are in force")
    ignored_settings = [setting for setting in list_ignored_settings(view) if "runtime nvidia" in setting]
    return expect_none("runtime nvidia", "in force or in no file", ignored_settings, "not ignored")


@check("op-containerd-imports-overwritten -> containerd-cgroup-driver", CONFIGURATION)
def drop_in_has_driver(view: View) -> Result:
    """Look for the cgroup driver in gpustack's file, which config.toml has to import."""
    is_set = view[CONFIGURATION].systemd.get(DROP_IN, False)
    return Result(f"SystemdCgroup in {DROP_IN}", "not set", "set" if is_set else "not set", ok=not is_set)


@check("gpu-leftover-driver-packages -> gpu-driver-library-mismatch", GPU_PACKAGES, GPU_DRIVER)
def package_has_version(view: View) -> Result:
    """Look for a package with the version of the library, beside another one with that of the loaded module."""
    driver, versions = view[GPU_DRIVER], {package.version for package in view[GPU_PACKAGES].values()}
    pair = [version for version in (driver.library, driver.module) if version in versions]
    return Result("packages with both versions", "none", format_value(pair), ok=len(set(pair)) < 2)
