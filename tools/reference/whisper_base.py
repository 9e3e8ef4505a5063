"""Writes test/models/__fixtures__/jfk-base.json: what CTranslate2 writes with Whisper base for a recording, token by token,
in two languages, and when faster-whisper finds each word of the first.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install ctranslate2==4.8.5 faster-whisper==1.2.1
    /tmp/reference/bin/python tools/reference/whisper_base.py FOLDER jfk.wav > test/models/__fixtures__/jfk-base.json

FOLDER holds model.bin, config.json and tokenizer.json of models/whisper-base.yaml, and vocabulary.txt beside them.
"""

import json
import sys

import ctranslate2
import numpy as np
import tokenizers
from faster_whisper import WhisperModel
from faster_whisper.audio import decode_audio
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer

FRAMES = 3000
START, END, TRANSLATE, TRANSCRIBE, NO_TIMESTAMPS = 50258, 50257, 50358, 50359, 50363


def main(folder, recording):
    model = ctranslate2.models.Whisper(folder, device="cpu", compute_type="float32")
    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    audio = decode_audio(recording)
    features = FeatureExtractor()(audio)
    features = np.pad(features, ((0, 0), (0, FRAMES)))[None, :, :FRAMES]
    encoded = model.encode(ctranslate2.StorageView.from_array(np.ascontiguousarray(features, np.float32)))
    [[(language, _), *_]] = model.detect_language(encoded)
    cases = []
    for code, task in (("en", TRANSCRIBE), ("de", TRANSCRIBE), ("de", TRANSLATE)):
        prompt = [START, tokenizer.token_to_id(f"<|{code}|>"), task, NO_TIMESTAMPS]
        [result] = model.generate(encoded, [prompt], beam_size=1)
        tokens = [token for token in result.sequences_ids[0] if token < END]
        text = tokenizer.decode(tokens)
        cases.append({"language": code, "translate": task == TRANSLATE, "tokens": tokens, "text": text})
    whole = WhisperModel(folder, compute_type="float32")
    splitter = Tokenizer(whole.hf_tokenizer, True, task="transcribe", language="en")
    seconds = len(audio) / 16000
    [found] = whole.find_alignment(splitter, [cases[0]["tokens"]], encoded, int(100 * seconds))
    words = [{"word": each["word"], "start": float(each["start"])} for each in found if each["word"].strip(" ,.")]
    print(json.dumps({"language": language.strip("<|>"), "cases": cases, "words": words}, ensure_ascii=False))


main(*sys.argv[1:])
