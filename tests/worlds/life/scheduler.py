"""Who gets which GPUs when: kube-scheduler's queue by priority and age, the fullest node that fits (MostAllocated), and
no waiting for those that do not fit yet, so small pods overtake large ones.

A pod has its GPUs from its binding until its containers have ended. A drained node and a GPU that fails end pods, and
their owners make new ones that do the rest of the work.
"""

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.worlds.life.clock import HOUR, NO_TIME, stream
from tests.worlds.life.hardware import Node
from tests.worlds.life.pod import Pod

ARRIVE, END, GIVE_UP, JOIN, LEAVE, CORDON, UNCORDON, FAIL, REPAIR = range(9)
QueueEntry = tuple[int, float, int, Pod]


@dataclass
class Scheduler:
    """`run` once. `pods` has all that were created, in the order of time."""

    seed: int
    nodes: Sequence[Node]
    pods: list[Pod] = field(default_factory=list)
    events: list[tuple[float, int, int, Any]] = field(default_factory=list)
    free: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    queues: dict[str, list[QueueEntry]] = field(default_factory=lambda: defaultdict(list))
    closed_nodes: set[str] = field(default_factory=set)
    holding: dict[str, dict[str, Pod]] = field(default_factory=lambda: defaultdict(dict))
    names: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.by_name = {node.name: node for node in self.nodes}

    def run(self, arrivals: Sequence[Pod], end: float) -> list[Pod]:
        for node in self.nodes:
            for join, leave in node.up_spans:
                self.post(join, JOIN, node)
                self.post(leave, LEAVE, node)
            for begin, last in node.cordoned_spans:
                self.post(begin, CORDON, node)
                self.post(last, UNCORDON, node)
            for slot, begin, last in node.broken_slots:
                self.post(begin, FAIL, (node, slot))
                self.post(last, REPAIR, (node, slot))
        for pod in arrivals:
            self.post(pod.creation, ARRIVE, pod)
        while self.events and self.events[0][0] < end:
            moment, _, event, subject = heapq.heappop(self.events)
            getattr(self, HANDLERS[event])(moment, subject)
        return self.pods

    def post(self, moment: float, event: int, subject: Any) -> None:
        self.count += 1
        if moment < NO_TIME:
            heapq.heappush(self.events, (moment, self.count, event, subject))

    def receive(self, moment: float, pod: Pod) -> None:
        if not pod.name:
            self.name(pod)
        self.pods.append(pod)
        if not self.bind(moment, pod):
            insort(self.queues[pod.pool.name], (-pod.priority, pod.creation, len(self.pods), pod))
            self.post(moment + pod.patience, GIVE_UP, pod)

    def name(self, pod: Pod) -> None:
        """A StatefulSet's pods have the lowest number that is free; others have a suffix."""
        pod.owner = f"{pod.kind}-{pod.uid[:6]}" if pod.owner_kind else ""
        if pod.owner_kind == "StatefulSet":
            used_names = self.names.setdefault((pod.namespace, pod.pool.name), [])
            number = next(number for number in range(len(used_names) + 1) if number not in used_names)
            used_names.append(number)
            pod.owner = f"{pod.kind}-{pod.pool.name}-{number}"
            pod.name = f"{pod.owner}-0"
        else:
            pod.name = f"{pod.owner or pod.kind}-{pod.uid[6:]}"

    def bind(self, moment: float, pod: Pod) -> bool:
        nodes = self.free[pod.pool.name]
        fitting = [
            (len(slots), name)
            for name, slots in nodes.items()
            if len(slots) >= pod.units and name not in self.closed_nodes
        ]
        if not fitting:
            return False
        _, fullest = min(fitting)
        slots, pod.node = nodes[fullest], self.by_name[fullest]
        pod.slots, slots[: pod.units] = tuple(slots[: pod.units]), []
        pod.binding, pod.start = moment, moment + pod.pull
        self.holding[pod.on][pod.uid] = pod
        fails = pod.owner_kind == "Job" and pod.uid.startswith("0")
        self.post(pod.start + pod.seconds, END, (pod, "Failed" if fails else "Succeeded"))
        return True

    def serve(self, moment: float, pool: str) -> None:
        waiting = self.queues[pool]
        if waiting:
            self.queues[pool] = [entry for entry in waiting if not self.bind(moment, entry[3])]

    def end(self, moment: float, subject: tuple[Pod, str]) -> None:
        pod, phase = subject
        if pod.end < NO_TIME:
            return
        assert pod.node
        pod.end, pod.phase = moment, phase
        pod.deletion = moment + pod.linger
        del self.holding[pod.on][pod.uid]
        self.release(pod.node, [slot for slot in pod.slots if not pod.node.is_broken(slot, moment)])
        if pod.owner_kind == "StatefulSet" and phase == "Succeeded":
            self.names[pod.namespace, pod.pool.name].remove(int(pod.owner.rsplit("-", 1)[1]))
        self.serve(moment, pod.pool.name)

    def release(self, node: Node, slots: Sequence[int]) -> None:
        free = self.free[node.pool.name].get(node.name)
        if free is not None:
            free[:] = sorted([*free, *slots])

    def evict(self, moment: float, pod: Pod, *, linger: float) -> None:
        """End a pod; its owner, if it has one, makes another that does what is left."""
        pod.linger = linger
        self.end(moment, (pod, "Failed"))
        remaining_seconds = pod.seconds - max(0.0, moment - pod.start)
        if pod.owner_kind and remaining_seconds > 0:
            pod_name = pod.name if pod.owner_kind == "StatefulSet" else f"{pod.owner}-{len(self.pods):08x}"
            uid = f"{stream(self.seed, 'again', pod.uid).getrandbits(64):016x}"
            successor = replace(
                pod, name=pod_name, uid=uid, creation=pod.deletion + 1, seconds=remaining_seconds, is_replacement=True
            )
            successor.binding = successor.start = successor.end = successor.deletion = NO_TIME
            successor.phase, successor.node, successor.slots = "Succeeded", None, ()
            self.post(successor.creation, ARRIVE, successor)

    def give_up(self, moment: float, pod: Pod) -> None:
        if pod.binding < NO_TIME:
            return
        pod.deletion = moment
        queue = self.queues[pod.pool.name]
        self.queues[pod.pool.name] = [entry for entry in queue if entry[3] is not pod]
        if pod.owner_kind == "StatefulSet":
            self.names[pod.namespace, pod.pool.name].remove(int(pod.owner.rsplit("-", 1)[1]))

    def join(self, moment: float, node: Node) -> None:
        self.free[node.pool.name][node.name] = [
            slot for slot in range(node.pool.slots) if not node.is_broken(slot, moment)
        ]
        self.serve(moment, node.pool.name)

    def leave(self, moment: float, node: Node) -> None:
        del self.free[node.pool.name][node.name]
        for pod in list(self.holding[node.name].values()):
            self.evict(moment, pod, linger=0.0)

    def cordon(self, moment: float, node: Node) -> None:
        self.closed_nodes.add(node.name)

    def uncordon(self, moment: float, node: Node) -> None:
        self.closed_nodes.discard(node.name)
        self.serve(moment, node.pool.name)

    def fail(self, moment: float, subject: tuple[Node, int]) -> None:
        """The device plugin takes it out of allocatable; the pod that had it fails, and stays for an hour."""
        node, slot = subject
        free = self.free[node.pool.name].get(node.name, [])
        if slot in free:
            free.remove(slot)
        for pod in [pod for pod in self.holding[node.name].values() if slot in pod.slots]:
            self.evict(moment, pod, linger=0.0 if pod.owner_kind == "StatefulSet" else float(HOUR))

    def repair(self, moment: float, subject: tuple[Node, int]) -> None:
        node, slot = subject
        self.release(node, [slot])
        self.serve(moment, node.pool.name)


HANDLERS = ("receive", "end", "give_up", "join", "leave", "cordon", "uncordon", "fail", "repair")
