"""Roles use ansible.builtin only, declare their arguments, and have no defaults of their own and no sleeps."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, nodes

from gpustack.config.resources import locate_playbooks
from gpustack.probes.control_plane.kubeadm import SIGNATURE
from tests.contract.roles import ROLES, list_role_tasks

every_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)

# Everything a task may say beside its module (ansible-core's playbook keywords for tasks, blocks and handlers).
KEYWORDS = {
    "always", "any_errors_fatal", "args", "async", "become", "become_user", "block", "changed_when", "check_mode",
    "delay", "delegate_facts", "delegate_to", "diff", "environment", "failed_when", "ignore_errors",
    "ignore_unreachable", "listen", "loop", "loop_control", "name", "no_log", "notify", "poll", "register", "rescue",
    "retries", "run_once", "tags", "throttle", "timeout", "until", "vars", "when",
}  # fmt: skip


# What the controller opens, loads or speaks with. `src` of some modules is on the host; ours need no host's word there.
CHOOSING = re.compile(
    r"(ansible\.builtin\.)?(include_(tasks|role|vars)|import_(tasks|role|playbook)|template|script|action|add_host)"
    r"|action|local_action|roles|src|vars_files|delegate_to|connection|notify|ansible_\w+"
)
BARE = {"when", "that", "changed_when", "failed_when", "until"}  # Ansible templates these without braces
FROM_HOSTS = {"ansible_facts", "ansible_local", "hostvars", "vars"}
# Of the overlay what is made of answers. `gpustack` itself is the spec.
FROM_HOSTS |= {"gpustack_fix", "gpustack_host", "gpustack_machine_id", "gpustack_objects", "gpustack_releases"}
FROM_HOSTS |= {"gpustack_remedy", "gpustack_reset", "gpustack_standalone"}


def test_roles_exist() -> None:
    assert ROLES


@every_role
def test_tasks_say_what_they_ensure(role: Path) -> None:
    """Handlers are named after what they do: they ensure nothing, they follow a change."""
    named_tasks = [place for place, _ in list_role_tasks(role) if place.startswith("tasks/")]
    assert [place for place in named_tasks if not place.partition(": ")[2].startswith("Ensure ")] == []


@every_role
def test_roles_use_builtin_modules_only(role: Path) -> None:
    foreign = {
        place: sorted(set(task) - KEYWORDS)
        for place, task in list_role_tasks(role)
        if any(not key.startswith("ansible.builtin.") for key in set(task) - KEYWORDS)
    }
    assert foreign == {}
    assert list(role.rglob("requirements.yml")) == []


@every_role
def test_arguments_are_declared_and_required(role: Path) -> None:
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    assert specs["main"]["short_description"]
    with_default = list(list_defaults(specs["main"].get("options", {})))
    assert with_default == [], "defaults stand in gpustack/config/spec.py only"


def list_defaults(options: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, option in options.items():
        if "default" in option:
            yield prefix + name
        yield from list_defaults(option.get("options", {}), f"{prefix}{name}.")


@every_role
def test_roles_have_no_defaults(role: Path) -> None:
    assert list(role.glob("defaults/*")) == []


SAME_MACHINE = locate_playbooks() / "tasks" / "same-machine.yml"
PLAYBOOKS = [
    path for folder in (locate_playbooks(), locate_playbooks() / "remedy") for path in sorted(folder.glob("*.yml"))
]


def is_machine_assertion(task: dict[str, Any], folder: Path) -> bool:
    path: Path = folder / task.get("ansible.builtin.import_tasks", "")
    return path.resolve() == SAME_MACHINE.resolve()


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_play_begins_with_the_question_which_machine_it_is(path: Path) -> None:
    for play in yaml.safe_load(path.read_text()):
        if "ansible.builtin.import_playbook" not in play:
            first, *other_tasks = play["pre_tasks"]
            assert is_machine_assertion(first, path.parent)
            assert {task["ansible.builtin.import_tasks"] for task in other_tasks} <= {
                "tasks/record-before.yml", "../tasks/record-before.yml", "tasks/way-out.yml"
            }  # fmt: skip
            assert play["gather_facts"] is False, "it would be asked before"


@every_role
def test_a_delegating_role_reads_the_machine_id_first(role: Path) -> None:
    """The ways into a role are tasks/main.yml, which includes others and notifies handlers, and tasks/reset.yml."""
    acting = [path for path in role.rglob("*.yml") if "delegate_to" in path.read_text()]
    for name in {"reset.yml" if path.name == "reset.yml" else "main.yml" for path in acting}:
        (first, *_) = yaml.safe_load((role / "tasks" / name).read_text())
        shared_tasks = role / "tasks" / first["ansible.builtin.import_tasks"]
        assert shared_tasks.resolve() == SAME_MACHINE.with_name("same-control-plane.yml").resolve()


@every_role
def test_roles_never_sleep(role: Path) -> None:
    sleeping = [
        place
        for place, task in list_role_tasks(role)
        if "ansible.builtin.pause" in task or re.search(r"\bsleep\s+[0-9]", str(task))
    ]
    assert sleeping == [], "waiting is part of verification: Step.settle"


def test_what_a_command_line_is_given_is_quoted() -> None:
    """A host names itself: `a;id` is a name that the kernel takes. One of two literals needs no quotes, nor has
    a script of ours."""
    commands = [
        mapping
        for path in locate_playbooks().rglob("*.yml")
        for mapping in list_mappings(yaml.safe_load(path.read_text()))
    ]
    words = ("cmd", *(f"ansible.builtin.{name}" for name in ("command", "raw", "shell")))
    lines = [str(command[word]) for command in commands for word in words if isinstance(command.get(word), str)]
    expressions = [match for line in lines for match in re.findall(r"\{\{ (.+?) \}\}", line)]
    safe_expression = r".+ if .+ else '\w*'|lookup\('ansible\.builtin\.file', '[\w-]+\.sh'\)"
    assert [
        expression
        for expression in expressions
        if not expression.endswith("| quote") and not re.fullmatch(safe_expression, expression)
    ] == []
    assert any("same_machine_id" in expression for expression in expressions)


@every_role
def test_task_files_are_short(role: Path) -> None:
    long = {str(path): n for path in role.glob("tasks/*.yml") if (n := len(path.read_text().splitlines())) > 80}
    assert long == {}


def test_the_token_of_a_join_is_known_by_one_id() -> None:
    script = (locate_playbooks() / "files" / "join-token.sh").read_text()
    assert f"id={SIGNATURE.removeprefix('jws-kubeconfig-')}\n" in script


def test_every_firewall_that_a_host_may_name_has_its_task_file() -> None:
    role = locate_playbooks() / "roles" / "firewall"
    named_firewalls = set(re.findall(r"echo (\w+)", (role / "templates" / "who.sh.j2").read_text())) - {"none"}
    (chosen_task,) = (task for _, task in list_role_tasks(role) if "{{ firewall_keeper }}.yml" in str(task))
    assert set(chosen_task["loop"]) == named_firewalls
    assert all((role / "tasks" / f"{name}.yml").is_file() for name in named_firewalls)


def test_no_answer_of_a_host_chooses_what_the_controller_opens() -> None:
    """A registered result, a fact, and all that is made of them: a host that was broken into would choose a file or a
    host for the operator's machine."""
    files = {path: yaml.safe_load(path.read_text()) for path in sorted(locate_playbooks().rglob("*.yml"))}
    answers = list_answers(list(files.values()))
    chosen_files = [
        f"{path.relative_to(locate_playbooks())}: {text}"
        for path, content in files.items()
        for text in find_choices(content, answers)
    ]
    templates = sorted(path for path in locate_playbooks().rglob("*.j2"))
    chosen_files += [f"{path.name}: {text}" for path in templates for text in find_openings(path.read_text(), answers)]
    assert len(files) > 60
    assert len(templates) > 10
    assert chosen_files == []


@pytest.mark.parametrize(
    "task",
    [
        '- {ansible.builtin.include_tasks: "{{ who.stdout }}.yml"}',
        '- {ansible.builtin.include_tasks: {file: "{{ made }}.yml"}}',
        "- {ansible.builtin.include_role: {name: x, tasks_from: \"{{ [who] | map(attribute='stdout') | first }}\"}}",
        '- {ansible.builtin.include_tasks: "{{ item }}.yml", loop: "{{ who.stdout_lines }}"}',
        '- {block: [{ansible.builtin.command: {argv: [a]}, delegate_to: "{{ hostvars[inventory_hostname].x }}"}]}',
        '- {ansible.builtin.copy: {src: "{{ ansible_facts.nodename }}", dest: /etc/a}}',
        "- {ansible.builtin.command: {argv: [a], stdin: \"{{ lookup('file', '/x' ~ made) }}\"}}",
        "- {ansible.builtin.command: {argv: [a]}, when: \"lookup('file', who.stdout) == 1\"}",
        "- {ansible.builtin.command: {argv: [\"{% set a = who.stdout %}{{ lookup('file', a) }}\"]}}",
        "- {ansible.builtin.command: {argv: [\"{% for a in made %}{{ lookup('file', a) }}{% endfor %}\"]}}",
        '- {ansible.builtin.include_tasks: "{{ gpustack_host.os }}.yml"}',
        '- {ansible.builtin.command: {argv: [a]}, vars: {ansible_host: "{{ who.stdout }}"}}',
        '- {vars_files: ["{{ who.stdout }}"]}',
    ],
)
def test_an_answer_that_chooses_is_found(task: str) -> None:
    known_tasks = yaml.safe_load(
        '- {ansible.builtin.command: {argv: [a]}, register: who, vars: {made: "{{ who.rc }}"}}'
    )
    tasks = yaml.safe_load(task)
    assert list(find_choices(tasks, list_answers([known_tasks, tasks]))) != []


def test_an_answer_that_only_decides_is_let_through() -> None:
    task = '- {ansible.builtin.include_tasks: "{{ item }}.yml", loop: [a, b], when: who.stdout == item, register: who}'
    assert list(find_choices(yaml.safe_load(task), {"who"})) == []


def test_no_task_runs_on_the_controller_or_writes_there() -> None:
    """Nothing that a host says can become a command, a text or a file on the controller."""
    tasks = [
        mapping
        for path in locate_playbooks().rglob("*.yml")
        for mapping in list_mappings(yaml.safe_load(path.read_text()))
    ]
    acting = {task["delegate_to"] for task in tasks if "delegate_to" in task}
    assert acting == {"{{ groups['kube_control_plane'] | first }}", "{{ same_machine_of }}"}
    assert [
        task for task in tasks if {"local_action", "connection", "ansible.builtin.fetch", "fetch"} & set(task)
    ] == []


def list_answers(files: list[Any]) -> set[str]:
    """List the variables that hold what a host answered, and those that are made of them."""
    known_names, assigned_names = set(FROM_HOSTS), dict[str, set[str]]()
    for file in files:
        for mapping in list_mappings(file):
            known_names |= {mapping["register"]} if "register" in mapping else set()
            for name, value in mapping.items():
                assigned_names[name] = assigned_names.get(name, set()) | list_names(value)
    while (
        new_names := {name for name, made_of in assigned_names.items() if made_of & known_names}
        - known_names
        - KEYWORDS
    ):
        known_names |= new_names
    return known_names


def list_mappings(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from list_mappings(inner)


def list_names(value: Any) -> set[str]:
    """List the variables that the templates of a value, or of all values in it, read."""
    if isinstance(value, str):
        return read_by(parse(value))
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*(list_names(element) for element in inner))


def parse(template: str) -> nodes.Template:
    """Parse a template with its backslashes, which Ansible keeps in strings."""
    return Environment().parse(template.replace("\\", "\\\\"))


def find_choices(node: Any, variables: set[str], key: str = "") -> Iterator[str]:
    """Find what names a file or a host for the controller by one of the known variables."""
    if isinstance(node, dict):
        round_of = (node.get("loop_control") or {}).get("loop_var", "item")
        loop_variables = variables | ({round_of} if list_names(node.get("loop")) & variables else set())
        for name, value in node.items():
            if CHOOSING.fullmatch(name) and list_names(value) & loop_variables:
                yield f"{name}: {value}"
            yield from find_choices(value, loop_variables, name)
    elif isinstance(node, list):
        for element in node:
            yield from find_choices(element, variables, key)
    elif isinstance(node, str):
        yield from find_openings(f"{{{{ {node} }}}}" if key in BARE else node, variables)


def find_openings(template: str, variables: set[str]) -> Iterator[str]:
    """Find lookups, includes and imports of a template that read one of the known variables."""
    tree = parse(template)
    loops = [(loop.target, loop.iter) for loop in tree.find_all(nodes.For)]
    for target, made_of in [
        *loops,
        *((assignment.target, assignment.node) for assignment in tree.find_all(nodes.Assign)),
    ]:
        variables = variables | (read_by(target) if read_by(made_of) & variables else set())
    lookups = [node for node in tree.find_all(nodes.Call) if getattr(node.node, "name", "") in ("lookup", "query", "q")]
    files = [*tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))]
    filters = [node for node in tree.find_all(nodes.Filter) if node.name.rpartition(".")[2] == "fileglob"]
    for node in (*lookups, *files, *filters):
        if read_by(node) & variables:
            yield template.strip()


def read_by(node: nodes.Node) -> set[str]:
    own_names = {node.name} if isinstance(node, nodes.Name) else set()
    return own_names | {name.name for name in node.find_all(nodes.Name)}
