"""Reads a sentence aloud into speech.wav, then transcribes that file. Uses the standard library only."""

import json
import os
import urllib.request
import uuid

URL = os.environ.get("SLUICE_URL", "http://127.0.0.1:3000")
KEY = {"Authorization": f"Bearer {os.environ['SLUICE_API_KEY']}"}


def post(path, body, content_type):
    headers = {**KEY, "Content-Type": content_type}
    with urllib.request.urlopen(urllib.request.Request(f"{URL}/api/v1/{path}", body, headers)) as response:
        return response.read()


def form(fields, name, content):
    """A form with one file, as curl -F sends it."""
    boundary = uuid.uuid4().hex
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{fields[key]}\r\n' for key in fields]
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n')
    return "".join(parts).encode() + content + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


text = "The museum opens at nine on Sunday."
audio = post("audio/speech", json.dumps({"input": text, "response_format": "wav"}).encode(), "application/json")
with open("speech.wav", "wb") as file:
    file.write(audio)
print(f"speech.wav: {len(audio)} bytes")

transcript = json.loads(post("audio/transcriptions", *form({"response_format": "verbose_json"}, "speech.wav", audio)))
print(f"{transcript['duration']:.1f} s of audio: {transcript['text'].strip()}")
