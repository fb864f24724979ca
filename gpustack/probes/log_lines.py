"""Messages of log lines, without their time and source.

Headers are those of klog (k8s.io/klog) and of CRI's log files (kubernetes/design-proposals kubelet-cri-logging); of the
keys of logrus' text form, `error` says more than `msg`.
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
