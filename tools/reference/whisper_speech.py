"""Writes test/models/__fixtures__/jfk.json: the transcript that the reference implementation of Whisper produces with the
weights of `models/whisper-tiny.yaml` (its ONNX graphs replace the network), the timestamps of segments and words, and the
speech probability of Silero's graph for each frame.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install openai-whisper==20250625 torch==2.15.0 numpy==2.4.6 onnxruntime==1.31.1
    /tmp/reference/bin/python tools/reference/whisper_speech.py <folder of the installed whisper-tiny> jfk.wav > jfk.json

The recording is `bindings/go/samples/jfk.wav` of whisper.cpp, in the package that test/models/jfk-recording.ts names.
"""

import json
import sys
import wave
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnxruntime
import torch
import whisper
from whisper.model import ModelDimensions
from whisper.tokenizer import get_tokenizer

LAYERS, HEADS, SIZE = 4, 6, 64
folder, recording = Path(sys.argv[1]), sys.argv[2]
generation = json.loads((folder / "generation_config.json").read_text())


def open_session(name):
    return onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])


class Encoder:
    def __init__(self):
        self.session = open_session("onnx/encoder_model_quantized.onnx")

    def __call__(self, mel):
        return torch.from_numpy(self.session.run(["last_hidden_state"], {"input_features": mel.numpy()})[0])


class Attention:
    """The module that the reference hooks into for its alignment, which never calls `key` and `value`."""

    def __init__(self):
        self.key = self.value = None
        self.hook = None

    def register_forward_hook(self, hook):
        self.hook = hook
        return SimpleNamespace(remove=lambda: setattr(self, "hook", None))


class Decoder:
    """The merged decoder with its own cache. Runs the same tokens per run as the engine: dynamic quantization depends on them."""

    def __init__(self):
        self.session = open_session("onnx/decoder_model_merged_quantized.onnx")
        self.blocks = [SimpleNamespace(attn=Attention(), cross_attn=Attention()) for _ in range(LAYERS)]

    def __call__(self, tokens, features, kv_cache=None):
        past = kv_cache if kv_cache else {}
        names = [f"{layer}.{side}.{kind}" for layer in range(LAYERS) for side in ("decoder", "encoder") for kind in ("key", "value")]
        empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
        feeds = {f"past_key_values.{name}": past.get(name, empty) for name in names}
        feeds |= {"input_ids": tokens.numpy().astype(np.int64), "encoder_hidden_states": features.numpy(), "use_cache_branch": np.array([bool(past)])}
        outputs = [f"present.{name}" for name in names] + [f"cross_attentions.{layer}" for layer in range(LAYERS)]
        logits, *rest = self.session.run(["logits", *outputs], feeds)
        for name, value in zip(names, rest):
            if kv_cache is not None and (not past or "decoder" in name):
                kv_cache[name] = value
        for block, weights in zip(self.blocks, rest[len(names):]):
            if block.cross_attn.hook is not None:
                # The reference expects values before the softmax. The logarithm of the softmax output is equivalent.
                block.cross_attn.hook(None, None, [torch.log(torch.from_numpy(weights))])
        return torch.from_numpy(logits)


class Model:
    device = torch.device("cpu")
    is_multilingual = True
    num_languages = 99

    def __init__(self):
        self.dims = ModelDimensions(80, 1500, 384, 6, 4, 51865, 448, 384, 6, 4)
        self.encoder, self.decoder = Encoder(), Decoder()
        heads = torch.zeros(LAYERS, HEADS, dtype=torch.bool)
        for layer, head in generation["alignment_heads"]:
            heads[layer, head] = True
        self.alignment_heads = heads.to_sparse()

    def logits(self, tokens, features):
        return self.decoder(tokens, features)

    def __call__(self, mel, tokens):
        return self.decoder(tokens, self.encoder(mel))

    def install_kv_cache_hooks(self):
        return {}, []

    def decode(self, mel, options):
        return whisper.decode(self, mel, options)

    def detect_language(self, mel):
        return whisper.detect_language(self, mel)


def read_samples():
    with wave.open(recording) as file:
        assert file.getframerate() == 16000 and file.getnchannels() == 1
        return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768


def voice(samples):
    session = open_session("silero_vad.onnx")
    state, context, found = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), []
    for start in range(0, len(samples), 512):
        frame = np.zeros(512, np.float32)
        part = samples[start : start + 512]
        frame[: len(part)] = part
        feeds = {"input": np.concatenate([context, frame])[None], "state": state, "sr": np.array(16000, np.int64)}
        output, state = session.run(["output", "stateN"], feeds)
        context = frame[-64:]
        found.append(round(float(output[0, 0]), 4))
    return found


def splits():
    tokenizer = get_tokenizer(True, num_languages=99, language="en", task="transcribe")
    texts = {"en": " Don't stop, he said: \"twenty-three\" 🌊 naïve Zoë.", "ja": "こんにちは、世界。🌊", "de": " Übermäßig – ja!"}
    return [
        {"language": language, "tokens": tokenizer.encode(text), "words": get_tokenizer(True, num_languages=99, language=language, task="transcribe").split_to_word_tokens(tokenizer.encode(text))}
        for language, text in texts.items()
    ]


samples = read_samples()
# generation_config.json has the limit for the first timestamp.
bound = 0.02 * generation["max_initial_timestamp_index"]
result = whisper.transcribe(Model(), torch.from_numpy(samples), word_timestamps=True, fp16=False, max_initial_timestamp=bound)
plain = whisper.transcribe(Model(), torch.from_numpy(samples), fp16=False, max_initial_timestamp=bound)
json.dump(
    {
        "madeWith": {"whisper": whisper.__version__, "torch": torch.__version__, "onnxruntime": onnxruntime.__version__},
        "language": result["language"],
        "text": result["text"],
        "segments": plain["segments"],
        "worded": [{"start": float(s["start"]), "end": float(s["end"]), "words": [{k: (v if k == "word" else round(float(v), 3)) for k, v in w.items()} for w in s["words"]]} for s in result["segments"]],
        "splits": splits(),
        "voice": voice(samples),
    },
    sys.stdout,
    ensure_ascii=False,
)
print()
