"""Prints an answer while it is generated, then how many tokens it took. Uses the standard library only."""

import json
import os
import urllib.request

URL = os.environ.get("SLUICE_URL", "http://127.0.0.1:3000")
HEADERS = {"Authorization": f"Bearer {os.environ['SLUICE_API_KEY']}", "Content-Type": "application/json"}

body = {
    "model": "default",
    "messages": [{"role": "user", "content": "Tell a short story about a river."}],
    "max_completion_tokens": 60,
    "stream": True,
    "stream_options": {"include_usage": True},
}
request = urllib.request.Request(f"{URL}/api/v1/chat/completions", json.dumps(body).encode(), HEADERS)
with urllib.request.urlopen(request) as response:
    for line in response:
        # Each event is one line `data: {…}` and an empty line. The last one is `data: [DONE]`.
        if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
            continue
        event = json.loads(line[len(b"data: "):])
        if "error" in event:
            raise SystemExit(f"The stream failed: {event['error']['message']}")
        for choice in event["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
        if event.get("usage"):
            print(f"\n({event['usage']['completion_tokens']} tokens)")
