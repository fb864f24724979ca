"""Sources in which programs of a host look for names: nsswitch.conf(5), which programs in Go follow too."""

from gpustack.ask.probe import Answer, Lines, Probe

SWITCH = "/etc/nsswitch.conf"


def parse_sources(answer: Answer) -> tuple[str, ...]:
    """Parse the sources of names of hosts, without what follows an answer (`[NOTFOUND=return]`)."""
    return tuple(word for word in answer.stdout.split() if not word.startswith(("[", "!")) and "=" not in word)


NAME_SOURCES = Probe(
    "resolver.sources",
    Lines(rf"[ ! -e {SWITCH} ] || sed -nE 's/^hosts:([^#]*).*/\1/p' {SWITCH}"),
    parse_sources,
    manual_command=f"grep ^hosts {SWITCH}",
)
