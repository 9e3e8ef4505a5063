"""Searches texts by embeddings, then sorts the best of them with a reranker. Uses the standard library only."""

import json
import os
import urllib.error
import urllib.request

URL = os.environ.get("SLUICE_URL", "http://127.0.0.1:3000")
HEADERS = {"Authorization": f"Bearer {os.environ['SLUICE_API_KEY']}", "Content-Type": "application/json"}

TEXTS = ["The ferry takes ten minutes.", "Bread is baked at night.", "Two bridges cross the river.", "Cats sleep a lot."]
QUERY = "How do I get over the river?"


def post(path, body):
    request = urllib.request.Request(f"{URL}/api/v1/{path}", json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


# Vectors have length one, so their product is the cosine of the angle between them.
data = post("embeddings", {"model": "default", "input": [QUERY, *TEXTS]})["data"]
query, *vectors = [entry["embedding"] for entry in data]
products = [sum(left * right for left, right in zip(query, vector)) for vector in vectors]
found = sorted(range(len(TEXTS)), key=lambda index: -products[index])[:3]
for index in found:
    print(f"embedding {products[index]:.3f}  {TEXTS[index]}")

try:
    documents = [TEXTS[index] for index in found]
    ranking = post("rerank", {"model": "default", "query": QUERY, "documents": documents, "return_documents": True})
except urllib.error.HTTPError as error:
    if error.code != 404:
        raise
    raise SystemExit("No reranker is installed; see docs/guides/rerank.md.")
for result in ranking["results"]:
    print(f"rerank    {result['relevance_score']:.3f}  {result['document']['text']}")
