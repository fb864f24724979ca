"""A small stand-in for kubectl and the API server: objects in one file of JSON, versions, conditions of a write.

Its answers have the form of kubectl v1.32: `Error from server (Conflict): …` and `Error from server (NotFound): …`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

Store = dict[str, Any]


def format_key(document: Any) -> str:
    metadata = document["metadata"]
    return f"{document['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def read(path: str) -> list[Any]:
    text = Path(path).read_text()
    if text.startswith("{"):
        return [json.loads(text)]
    return [document for document in yaml.safe_load_all(text) if document]


def refuse(word: str, text: str) -> None:
    sys.stderr.write(f"Error from server ({word}): {text}\n")
    raise SystemExit(1)


def main(file: Path, words: list[str]) -> None:
    store: Store = json.loads(file.read_text())
    paths = [words[index + 1] for index, word in enumerate(words) if word == "-f"]
    if words[0] == "get":
        document_keys = [format_key(document) for path in paths for document in read(path)]
        items = [store[name] for name in document_keys if name in store]
        if items:
            sys.stdout.write(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1))
    elif words[0] == "replace":
        (document,) = read(paths[0])
        present = store.get(format_key(document))
        if not present:
            refuse("NotFound", "not found")
        elif present["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            refuse("Conflict", "the object has been modified; please apply your changes to the latest version")
        else:
            remaining_fields = {name: present["metadata"][name] for name in ("uid", "managedFields")}
            version = {"resourceVersion": str(int(present["metadata"]["resourceVersion"]) + 1)}
            store[format_key(document)] = {
                **document,
                "metadata": {**document["metadata"], **remaining_fields, **version},
            }
    elif words[:2] == ["delete", "--raw"]:
        *_, space, plural, name = words[2].split("/")
        (conditions,) = (options["preconditions"] for options in read(paths[0]))
        matching = [
            key
            for key, document in store.items()
            if key.endswith(f" {space}/{name}") and plural.startswith(document["kind"].lower())
        ]
        if not matching:
            refuse("NotFound", "not found")
        metadata = store[matching[0]]["metadata"]
        if any(metadata[field] != value for field, value in conditions.items()):
            refuse("Conflict", "Precondition failed")
        del store[matching[0]]
    else:
        raise SystemExit(f"unexpected: {words}")
    file.write_text(json.dumps(store))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
