"""Writes libs/inference/src/families/musicgen/__fixtures__/: a tiny MusicGen with random weights, exported by the same tool as
the published ONNX models, and the codes and samples that transformers generates with it.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install optimum-onnx==0.1.0 transformers==4.57.6 torch==2.9.1 onnx==1.23.2 onnxruntime==1.23.2
    /tmp/reference/bin/python tools/reference/tiny_musicgen.py libs/inference/src/families/musicgen/__fixtures__
"""

import base64
import json
import os
import shutil
import sys
import tempfile

import torch
import transformers
from optimum.exporters.onnx import main_export
from optimum.onnx import merge_decoders
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    EncodecConfig,
    MusicgenConfig,
    MusicgenDecoderConfig,
    MusicgenForConditionalGeneration,
    PreTrainedTokenizerFast,
    T5Config,
)

from smaller_graph import shrink

target = sys.argv[1]
folder = os.path.join(target, "tiny")
shutil.rmtree(target, ignore_errors=True)
os.makedirs(os.path.join(folder, "onnx"))
torch.manual_seed(11)

# A T5-style vocabulary, trained on a few words.
corpus = ["slow jazz with a soft piano and brushes on the drums", "a happy pop song, 120 bpm, with guitars", "rain and wind"]
learner = Tokenizer(models.Unigram())
learner.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
learner.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
special = ["<pad>", "</s>", "<unk>"]
learner.train_from_iterator(
    corpus * 8, trainers.UnigramTrainer(vocab_size=100, special_tokens=special, unk_token="<unk>", show_progress=False)
)
learner.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=learner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
)

# Scaled down from the published models: 4 codebooks, 50 frames of 640 samples per second, and different widths of encoder
# and decoder.
CODES = 64
config = MusicgenConfig.from_sub_models_config(
    T5Config(
        vocab_size=len(tokenizer), d_model=12, d_kv=6, d_ff=24, num_layers=2, num_heads=2, feed_forward_proj="relu",
        is_encoder_decoder=False, use_cache=False, initializer_factor=1.0,
    ),
    EncodecConfig(
        sampling_rate=32_000, audio_channels=1, target_bandwidths=[2.0], normalize=False, num_filters=1, compress=1, hidden_size=8,
        upsampling_ratios=[8, 5, 4, 4], codebook_size=CODES, num_lstm_layers=1, use_causal_conv=False,
        chunk_length_s=None, overlap=None,
    ),
    MusicgenDecoderConfig(
        vocab_size=CODES, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, num_codebooks=4,
        pad_token_id=CODES, bos_token_id=CODES, max_position_embeddings=256, initializer_factor=0.02,
    ),
)
model = MusicgenForConditionalGeneration(config).eval()
with torch.no_grad():
    # Larger weights separate the logits, so that rounding cannot change a code.
    for weights in [*model.decoder.parameters(), *model.enc_to_dec_proj.parameters()]:
        if weights.dim() > 1:
            weights.normal_(0, 0.4)
    for layer in model.audio_encoder.quantizer.layers:
        layer.codebook.embed.normal_(0, 4)
model.generation_config.update(
    bos_token_id=CODES, decoder_start_token_id=CODES, pad_token_id=CODES, do_sample=True, guidance_scale=3.0, max_length=250,
)

with tempfile.TemporaryDirectory() as scratch:
    model.save_pretrained(os.path.join(scratch, "model"))
    tokenizer.save_pretrained(os.path.join(scratch, "model"))
    main_export(
        os.path.join(scratch, "model"), output=os.path.join(scratch, "onnx"), task="text-to-audio", do_validation=False,
        library_name="transformers",
    )
    part = lambda name: os.path.join(scratch, "onnx", name + ".onnx")
    merge_decoders(
        part("decoder_model"), part("decoder_with_past_model"), graph_name="merged",
        producer_name="optimum-onnx", save_path=part("decoder_model_merged"), strict=False,
    )
    for name in ["text_encoder", "decoder_model_merged", "encodec_decode"]:
        shutil.copy(part(name), os.path.join(folder, "onnx"))
        shrink(os.path.join(folder, "onnx", name + ".onnx"))
    for name in ["config.json", "generation_config.json"]:
        shutil.copy(os.path.join(scratch, "model", name), folder)
    for name in ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"]:
        shutil.copy(os.path.join(scratch, "model", name), folder)

decode = model.audio_encoder.decode
seen = []


def watched(audio_codes, *rest, **named):
    seen.append(audio_codes)
    return decode(audio_codes, *rest, **named)


model.audio_encoder.decode = watched
cases = []
for prompt, frames, guidance in [
    ("slow jazz with a soft piano", 8, 3.0),
    ("Rain and  wind, 120 bpm!", 40, 3.0),
    ("a happy pop song", 6, 1.0),
]:
    inputs = tokenizer(prompt, return_tensors="pt")
    # The last of the four code streams starts three steps late.
    audio = model.generate(
        input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, do_sample=False, guidance_scale=guidance,
        max_new_tokens=frames + 3,
    )
    codes = seen.pop()
    assert codes.shape[-2:] == (4, frames), codes.shape
    samples = audio[0, 0].detach().numpy()
    assert samples.size == frames * 640 and abs(samples).max() > 0.01, (samples.size, abs(samples).max())
    cases.append({
        "prompt": prompt, "frames": frames, "guidance": guidance, "codes": codes.reshape(-1).tolist(),
        "samples": base64.b64encode(samples.astype("<f4").tobytes()).decode() if frames < 10 else None,
    })
texts = [case["prompt"] for case in cases] + ["", "brushes\n\u6c34 \ufb01ne", " slow  jazz "]
encoded = [{"text": text, "ids": tokenizer(text).input_ids} for text in texts]
with open(os.path.join(target, "tiny-musicgen.json"), "w") as file:
    json.dump({"madeWith": "transformers " + transformers.__version__, "cases": cases, "encoded": encoded}, file)
    file.write("\n")
