"""Gets a document that always follows a JSON schema. Uses the standard library only."""

import json
import os
import urllib.request

URL = os.environ.get("SLUICE_URL", "http://127.0.0.1:3000")
HEADERS = {"Authorization": f"Bearer {os.environ['SLUICE_API_KEY']}", "Content-Type": "application/json"}

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "kind": {"enum": ["cat", "dog", "bird"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 30},
    },
    "required": ["name", "kind", "age"],
    "additionalProperties": False,
}

body = {
    "model": "default",
    # The schema does not enter the prompt, so the message says what the document is about.
    "messages": [{"role": "user", "content": "Describe a pet as JSON with its name, kind and age."}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "pet", "strict": True, "schema": SCHEMA}},
    "max_completion_tokens": 120,
}
request = urllib.request.Request(f"{URL}/api/v1/chat/completions", json.dumps(body).encode(), HEADERS)
with urllib.request.urlopen(request) as response:
    content = json.load(response)["choices"][0]["message"]["content"]

pet = json.loads(content)
print(f"{pet['name']!r} is a {pet['kind']} of {pet['age']} years.")
