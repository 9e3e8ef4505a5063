"""Creates a key that may spend a hundredth of a cent a day, chats with it until it is refused, and deletes it.

Needs SLUICE_ADMIN_KEY. Uses the standard library only.
"""

import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ.get("SLUICE_URL", "http://127.0.0.1:3000")
ADMIN_KEY = os.environ["SLUICE_ADMIN_KEY"]


def call(method, path, key, body=None):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/api/v1/{path}", data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


limit = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0001
key = call("POST", "api_keys", ADMIN_KEY, {
    "apiKeyType": "INFERENCE",
    "description": "spend-limited-key.py",
    "consumptionLimit": {"usd": limit},
    "limitPeriod": "EPOCH",  # a UTC day
})["data"]
print(f"Created a key that may spend ${limit:f} a day.")

chat = {
    "model": "default",
    "messages": [{"role": "user", "content": "Say hello."}],
    "max_completion_tokens": 16,
}
try:
    for count in range(1, 201):
        answer = call("POST", "chat/completions", key["apiKey"], chat)
        print(f"Chat {count} cost ${answer['cost']['usd']:.9f}.")
except urllib.error.HTTPError as error:
    print(f"Refused with {error.code} {json.load(error)['error']['code']}.")
finally:
    call("DELETE", f"api_keys?id={key['id']}", ADMIN_KEY)
    print("Deleted the key.")
