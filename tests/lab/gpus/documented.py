"""The commands of the documents need these preparations in a lab. test_documents.py replaces addresses and names of the
documents by the lab's."""

from dataclasses import dataclass

PAGES = ("walkthrough.md", "gpus.md", "profiling.md", "serve.md", "training.md")

SHORTER = {"--for 15m": "--for 2m", "--for 10m": "--for 2m", "--for 5m": "--for 2m"}
"""Nobody waits so long here: at 5 s, the lab's interval, two minutes have the samples that a verdict needs."""


@dataclass(frozen=True)
class Row:
    """`more`: words behind the command, because nobody answers here. `serves`: it runs on until another one serves.
    `not_run`: why not. Every other command ends with one of `codes`."""

    options: str = ""
    serves: bool = False
    not_run: str = ""
    codes: tuple[int, ...] = (0,)


CONFIRMED_ROW = Row(options="--yes")
NO_DOCKER = Row(not_run="the lab has no docker and no registry that takes images")
NO_LOGIN = Row(not_run="the lab's mirror asks for no login")

YOUNG = Row(codes=(2, 8))
"""The lab's Prometheus has minutes of history: no whole hour, or few."""

SCALED_ROW = Row(not_run="test_autoscaling.py does it, with a Deployment")

ROWS = {
    "gpustack init mycluster": Row(not_run="lab up wrote the inventory of the lab"),
    "gpustack plan -i mycluster": Row(),
    "gpustack install -i mycluster": CONFIRMED_ROW,
    "gpustack verify -i mycluster": Row(),
    "gpustack prove -i mycluster": Row(),
    "gpustack doctor -i mycluster": Row(),
    "gpustack kubeconfig -i mycluster --out admin.kubeconfig": Row(),
    "kubectl --kubeconfig admin.kubeconfig get nodes": Row(not_run="the controller of the lab has no kubectl"),
    "gpustack gpu list -i mycluster": Row(),
    "gpustack gpu top -i mycluster --once": Row(),
    "gpustack access grafana -i mycluster": Row(not_run="it stays until Ctrl-C"),
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h --workload training": Row(),
    "gpustack profile record -i mycluster --pod team-a/train-0 --for 15m --label before --out before.json": Row(),
    "gpustack install -i mycluster --only alerts": CONFIRMED_ROW,
    "gpustack capacity report -i mycluster --since 1d": YOUNG,
    "gpustack capacity forecast -i mycluster": Row(codes=(2,)),  # no whole day yet
    "gpustack cost report -i mycluster --since 1d --budget team-a=5000": YOUNG,
    "gpustack install -i mycluster --only autoscaling": SCALED_ROW,
    "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c-x2k4p > vllm.yaml": SCALED_ROW,
    "kubectl --kubeconfig admin.kubeconfig apply -f vllm.yaml": SCALED_ROW,
    "gpustack explain st-no-metrics": Row(),
    "gpustack gpu top --prometheus https://prometheus.example.org --token-file token": Row(),
    "gpustack gpu list --prometheus https://mimir.example.org/prometheus --tenant team -o csv": Row(),
    "gpustack gpu check-exporter -i mycluster --for 40s": Row(),
    "gpustack gpu check-exporter http://10.0.0.12:9400/metrics -o junit": Row(),
    "gpustack gpu diag -i mycluster": CONFIRMED_ROW,
    "gpustack gpu diag -r 3 --node gpu1 -i mycluster -o junit > diag.xml": CONFIRMED_ROW,
    "gpustack gpu config set --power-limit 250 --for 2h --node gpu1 -i mycluster": CONFIRMED_ROW,
    "gpustack gpu profiling pause --for 30m --node gpu1 -i mycluster --yes": Row(),
    "gpustack gpu profiling resume --node gpu1 -i mycluster --yes": Row(),
    "gpustack gpu burn -i mycluster": CONFIRMED_ROW,
    # A training on host2, as the lab simulates it, slows all GPUs there: they are behind those of host1.
    "gpustack gpu burn --field dram-active --for 10m --node gpu1,gpu2 -i mycluster": Row(options="--yes", codes=(1,)),
    "gpustack gpu burn --gpu GPU-4f1c... --max-temperature 80 -i mycluster -o json": CONFIRMED_ROW,
    "gpustack gpu metrics -i mycluster": Row(),
    "gpustack explain metric SM_ACTIVE": Row(),
    "gpustack explain metric gpustack:gpu_active:ratio": Row(),
    "gpustack explain xid 79": Row(),
    "gpustack profile analyze -i mycluster --pod team-a/train-0 --since 1h": Row(),
    "gpustack profile record -i mycluster --pod team-a/train-0 --for 15m --label run1 --out run1.json": Row(),
    "gpustack profile record --exporter http://gpu1:9400/metrics --pod team-a/train-0 --for 15m --label run2 "
    "--out run2.json": Row(),
    "gpustack profile analyze run1.json --workload training": Row(),
    "gpustack profile analyze run1.json -o html > run1.html": Row(),
    "gpustack profile compare run1.json run2.json --fail-if 'tensor<-5%'": Row(),
    "gpustack profile baseline -i mycluster --node gpu1 --for 5m --out idle.json": Row(),
    "gpustack profile analyze run1.json --baseline idle.json": Row(),
    "gpustack serve -i mycluster": Row(options="--listen 127.0.0.1:9460", serves=True),
    "gpustack serve --prometheus http://prometheus.monitoring:9090 --listen 127.0.0.1:9460": Row(serves=True),
    "curl -sS http://127.0.0.1:9460/v1/pods/team-a/train-0/sm": Row(options="--fail"),
    "docker build -f Containerfile -t registry.example.com/gpustack:0.1.0 .": NO_DOCKER,
    "docker push registry.example.com/gpustack:0.1.0": NO_DOCKER,
    "kubectl -n monitoring create secret docker-registry registry --docker-server=registry.example.com "
    "--docker-username=USER": NO_LOGIN,
    "kubectl -n monitoring patch serviceaccount gpustack-serve -p "
    '\'{"imagePullSecrets": [{"name": "registry"}]}\'': NO_LOGIN,
    "kubectl -n monitoring delete pod -l app.kubernetes.io/name=gpustack-serve": NO_LOGIN,
    "cp logs/gpustack_logs.py .": Row(),
    "docker build -f examples/training/Dockerfile -t registry.example.org/training:1 .": NO_DOCKER,
    "docker push registry.example.org/training:1": NO_DOCKER,
    "kubectl -n team-a apply -f examples/training/training.yaml": Row(),
}
