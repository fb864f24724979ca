"""A diagnosis as one HTML file for a ticket: no script, nothing from elsewhere, readable in light, dark and print.

The page is gpustack/report/templates/doctor.html.j2. Whatever it prints passes gpustack/report/page.py:
answers of hosts have no secret, no terminal escape and no markup left.
"""

from collections import Counter
from functools import cache
from importlib.metadata import version

from jinja2 import Environment
from markupsafe import Markup, escape

from gpustack.ask.snapshot import Reach
from gpustack.ask.view import Evidence
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import peers
from gpustack.doctor.recent_changes import changed
from gpustack.events import count
from gpustack.remedy.commands import commands
from gpustack.report import evidence
from gpustack.report.codes import DIAGNOSED, doctor_code
from gpustack.report.doctor import format as doctor_words
from gpustack.report.doctor.format import AUTO, SHOWN
from gpustack.report.format import Clean, cleaner, cut, place, places
from gpustack.report.page import make_environment, style_of

# Characters of a text that are shown, of one that stands in one line, and of an answer, with its lines. More is read
# than shown: what was cut in the middle of a secret is not recognised as one, and stands behind what is shown.
TEXT, LINE, ANSWER, LINES, READ = 2_000, 400, 8_000, 60, 32_000


def text(found: Diagnosis, *, verbose: bool = False) -> str:
    """`verbose` unfolds everything."""
    made, clean = environment(), cleaner(found.snapshot.inventory)
    code = doctor_code(found)
    return made.get_template("doctor.html.j2").render(
        clean=short(clean, TEXT),
        whole=short(clean, ANSWER),
        found=found,
        inventory=found.snapshot.inventory,
        verbose=verbose,
        code=code,
        meaning=DIAGNOSED[code],
        product=version("gpustack-cluster"),
        unreached=unreached(found),
        style=style_of(made, "doctor.css"),
    )


@cache
def environment() -> Environment:
    made = make_environment()
    made.globals |= {name: getattr(doctor_words, name) for name in ("heading", "calm", "summed", "next_command")}
    made.globals |= {"graph": graph(), "titled": doctor_words.titled}
    made.globals |= {"command_line": command_line, "answer": evidence.answer, "changed": changed, "peers": peers}
    made.globals |= {"commands": commands, "shown": SHOWN, "auto": AUTO}
    made.filters |= {name: getattr(doctor_words, name) for name in ("titles", "refusals", "because", "earlier", "well")}
    made.filters |= {"places": places, "place": place, "count": count, "excerpt": excerpt}
    made.filters |= {"by_text": doctor_words.by_text, "missing": doctor_words.missing}
    return made


def short(clean: Clean, length: int) -> Clean:
    return lambda output: clean(output) if len(output) <= length else f"{clean(output[:READ])[:length]}…"


def command_line(entry: Evidence) -> str:
    return cut(evidence.command(entry), LINE)


def excerpt(entry: Evidence, clean: Clean) -> Markup:
    """What an answer says, as much of it as a reader takes in."""
    answer = entry.answer
    if answer.lost:
        return escape(f"(no answer: {clean(answer.lost)})")
    output = clean(answer.out) + clean(answer.err)
    lines = "\n".join(output.splitlines()[:LINES])[:ANSWER]
    more = [] if lines == output.rstrip("\n") else ["… cut here; -o json has all of it"]
    ended = [f"(ended with {answer.rc})"] if answer.rc else []
    return escape("\n".join([*filter(None, [lines]), *more, *ended]) or "(nothing)")


def unreached(found: Diagnosis) -> list[tuple[Reach, int]]:
    """Hosts that could not be command_line, each with how many checks need it."""
    needed = Counter(one.where for one in found.unknown)
    return [(reach, needed[reach.host]) for reach in found.snapshot.reach.values() if not reach.reached]
