"""Writes libs/inference/src/families/whisper/__fixtures__/parts.json: the results of the reference implementation of Whisper
and of the feature extractor of transformers for audio, logits, attention and words that the tests compute as well.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install openai-whisper==20250625 transformers==4.57.6 torch==2.15.0 numpy==2.4.6
    /tmp/reference/bin/python tools/reference/whisper_parts.py > parts.json
"""

import copy
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import torch
import transformers
import whisper
from transformers import WhisperFeatureExtractor
from whisper import timing
from whisper.audio import log_mel_spectrogram, mel_filters
from whisper.decoding import ApplyTimestampRules
from whisper.utils import compression_ratio


def lcg(seed):
    """Yields numbers in [0, 1) that are the same in every programming language."""
    state = seed
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield state / 2**32


def rounded(values, digits=6):
    return [round(float(value), digits) for value in np.asarray(values).ravel()]


def audio(seconds=1.5, rate=16000):
    noise = lcg(7)
    return np.array(
        [0.4 * math.sin(2 * math.pi * (200 * t + 600 * t * t)) + 0.05 * (next(noise) - 0.5) for t in (i / rate for i in range(int(seconds * rate)))],
        dtype=np.float32,
    )


def mel_part():
    samples = audio()
    extracted = WhisperFeatureExtractor(feature_size=80)(samples, sampling_rate=16000, return_tensors="np").input_features[0]
    padded = np.pad(samples, (0, 480000 - len(samples)))
    reference = log_mel_spectrogram(torch.from_numpy(padded), n_mels=80).numpy()
    frames = [0, 1, 2, 17, 60, 100, 148, 149, 150, 151, 152, 1000, 2998, 2999]
    filters = mel_filters("cpu", 128).numpy()
    return {
        "frames": frames,
        "transformers": [rounded(extracted[:, frame]) for frame in frames],
        "whisper": [rounded(reference[:, frame]) for frame in frames],
        # The sum and the centre of each triangle give its weight and its position.
        "filters128": {"sums": rounded(filters.sum(axis=1), 8), "centres": rounded((filters * np.arange(201)).sum(axis=1) / filters.sum(axis=1))},
    }


def rules_part():
    tokenizer = SimpleNamespace(eot=30, no_timestamps=35, timestamp_begin=36)
    rules = ApplyTimestampRules(tokenizer, 0, 5)
    cases = []
    histories = [[], [36], [36, 3], [36, 3, 40], [36, 3, 40, 40], [36, 3, 40, 40, 7], [36, 3, 4, 5], [36, 3, 40, 42], [37, 1, 50, 50, 2, 55]]
    for number, history in enumerate(histories):
        for flat in (False, True):
            random = lcg(100 + number)
            logits = torch.tensor([[4 * next(random) - (2 if flat and i < 36 else 0) for i in range(60)]], dtype=torch.float32)
            rules.apply(logits, torch.tensor([history], dtype=torch.long))
            cases.append({"seed": 100 + number, "flat": flat, "history": history, "allowed": [i for i in range(60) if logits[0, i] != -math.inf]})
    return cases


def alignment_part():
    tokens, frames, width = 11, 60, 7
    random = lcg(42)
    heads = []
    for _head in range(3):
        qk = np.array([[3 * next(random) + 4 * math.exp(-((frame / frames - token / tokens) ** 2) * 80) for frame in range(frames)] for token in range(tokens)])
        heads.append(qk)
    sounding = 47
    weights = torch.tensor(np.array(heads), dtype=torch.float32)[:, :, :sounding].softmax(dim=-1)
    std, mean = torch.std_mean(weights, dim=-2, keepdim=True, unbiased=False)
    weights = timing.median_filter((weights - mean) / std, width)
    matrix = weights.mean(axis=0)[3:-1]
    text_indices, time_indices = timing.dtw(-matrix)
    jumps = np.pad(np.diff(text_indices), (1, 0), constant_values=1).astype(bool)
    return {"tokens": tokens, "frames": frames, "sounding": sounding, "skipped": 3, "matrix": rounded(matrix, 5), "starts": [int(value) for value in time_indices[jumps]]}


def words_part():
    """Runs the words of two segments, in the form that `find_alignment` returns, through all later steps."""

    def word(text, count, start, end):
        return timing.WordTiming(word=text, tokens=list(range(count)), start=start, end=end, probability=0.5)

    cases = [
        [word(" Hello", 1, 0.0, 0.4), word(",", 1, 0.4, 0.5), word(" world", 2, 0.5, 1.0), word(".", 1, 1.0, 3.0), word(' "', 1, 3.0, 3.1), word("Yes", 1, 3.1, 3.4), word('"', 1, 3.4, 3.5), word(" it", 1, 3.5, 3.7), word(" is", 1, 3.7, 6.0)],
        [word(" One", 1, 0.0, 4.0), word(" two", 1, 4.0, 4.2), word(" three", 2, 4.2, 4.6), word("!", 1, 4.6, 4.7), word(" Four", 2, 4.7, 7.7), word(" five", 1, 7.7, 8.0), word(" six", 1, 8.0, 8.3)],
        [word(" a", 1, 0.3, 0.3), word(" b", 1, 0.3, 0.3)],
    ]
    segments = [
        [{"seek": 0, "start": 0.0, "end": 2.0, "tokens": [0] * 5}, {"seek": 0, "start": 3.0, "end": 4.0, "tokens": [0] * 5}],
        [{"seek": 0, "start": 3.0, "end": 4.8, "tokens": [0] * 5}, {"seek": 0, "start": 6.5, "end": 8.2, "tokens": [0] * 4}],
        [{"seek": 0, "start": 0.3, "end": 0.5, "tokens": [0] * 2}],
    ]
    made = []
    for alignment, wanted in zip(cases, segments):
        given = [{"word": w.word, "tokens": len(w.tokens), "start": w.start, "end": w.end} for w in alignment]
        before = [{"start": s["start"], "end": s["end"], "textTokens": len(s["tokens"])} for s in wanted]
        timing.find_alignment = lambda *_args, **_more: copy.deepcopy(alignment)
        timing.add_word_timestamps(segments=wanted, model=None, tokenizer=SimpleNamespace(eot=1000), mel=None, num_frames=0, last_speech_timestamp=0.0)
        after = [{"start": s["start"], "end": s["end"], "words": [{"word": w["word"], "start": float(w["start"]), "end": float(w["end"])} for w in s["words"]]} for s in wanted]
        made.append({"words": given, "segments": before, "expected": after})
    return made


def compression_part():
    texts = ["Thank you.", ("na " * 60).strip(), "And so my fellow Americans ask not what your country can do for you.", "こんにちは。" * 12]
    return [{"text": text, "ratio": round(compression_ratio(text), 4)} for text in texts]


json.dump(
    {
        "madeWith": {"whisper": whisper.__version__, "transformers": transformers.__version__, "torch": torch.__version__, "numpy": np.__version__},
        "mel": mel_part(),
        "rules": rules_part(),
        "alignment": alignment_part(),
        "words": words_part(),
        "compression": compression_part(),
    },
    sys.stdout,
)
print()
