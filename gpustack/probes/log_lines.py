"""What a line of a log says, without when it was and who wrote it down.

Headers of klog (k8s.io/klog), of CRI's log files (kubernetes/design-proposals kubelet-cri-logging), and the keys of
logrus' text form, of which `error` says more than `msg`.
"""

import re

from gpustack.files.json_text import load_json

CRI = re.compile(r"^\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] ")
KLOG = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^ \]]+\] ")
LOGRUS = re.compile(r'^time="[^"]*" level=\w+ ')
KEYS = re.compile(r'(?:^| )(error|msg)=("(?:[^"\\]|\\.)*")')


def strip_prefix(line: str) -> str:
    line = KLOG.sub("", CRI.sub("", line))
    if not LOGRUS.match(line):
        return line
    try:
        fields = {key: load_json(text) for key, text in KEYS.findall(line)}
    except ValueError:
        fields = {}
    return fields.get("error") or fields.get("msg") or LOGRUS.sub("", line)
