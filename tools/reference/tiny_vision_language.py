"""Writes libs/inference/src/families/vision-language/__fixtures__/: tiny vision-language models with random weights in the
layout of the published ONNX exports (vision encoder, token embedding, merged decoder), and what the preprocessing and the
models of transformers compute with them.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install transformers==4.57.6 torch==2.9.1 onnx==1.23.2 onnxruntime==1.23.2 pillow==11.3.0
    /tmp/reference/bin/python tools/reference/tiny_vision_language.py libs/inference/src/families/vision-language/__fixtures__
"""

import base64
import hashlib
import json
import os
import shutil
import sys

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from transformers.cache_utils import DynamicCache

CORPUS = [
    "What is in this picture? A small boat on the river, and a red house behind the trees.",
    "Describe the image. Compare the two images. The first shows a cat, the second shows a dog.",
    "User: Hello Assistant: Hello, how can I help you today?",
]


def draw_image(width, height, seed):
    """An image that is the same in every programming language: smooth waves and a little noise from integers alone."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    channels = [((x * (3 + c + seed) + y * (5 + 2 * c)) % 211 + (x * y * (seed + 1) + c * 37) % 43) % 256 for c in range(3)]
    return Image.fromarray(np.stack(channels, axis=-1).astype(np.uint8))


def tokenizer_of(special, size=340):
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    learner.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=learner, bos_token="<|im_start|>", eos_token="<end_of_utterance>", pad_token="<|im_end|>",
        unk_token="<|endoftext|>", model_input_names=["input_ids", "attention_mask"], additional_special_tokens=[token for token in special if token.startswith("<")],
    )


class Decoder(torch.nn.Module):
    """The language model as the published exports run it: embeddings and a cache in, logits and the longer cache out."""

    def __init__(self, language, head, layers, multimodal_positions=False):
        super().__init__()
        self.language, self.head, self.layers, self.multimodal = language, head, layers, multimodal_positions

    def forward(self, inputs_embeds, attention_mask, position_ids, *past):
        cache = DynamicCache()
        for layer in range(self.layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        steps, total = inputs_embeds.shape[1], attention_mask.shape[1]
        order = torch.arange(total)
        behind = order[None, :] > order[total - steps:, None]
        mask = torch.zeros(behind.shape).masked_fill(behind, torch.finfo(torch.float32).min)[None, None]
        output = self.language(
            inputs_embeds=inputs_embeds,
            attention_mask={"full_attention": mask} if self.multimodal else mask,
            position_ids=position_ids, past_key_values=cache, use_cache=True,
            cache_position=order[total - steps:],
        )
        present = [part for layer in cache.layers for part in (layer.keys, layer.values)]
        return (self.head(output.last_hidden_state), *present)


def export(module, inputs, path, input_names, output_names, dynamic):
    with torch.no_grad():
        torch.onnx.export(
            module, inputs, path, input_names=input_names, output_names=output_names, dynamic_axes=dynamic, dynamo=False,
            opset_version=17,
        )
    from smaller_graph import shrink

    shrink(path)


def export_decoder(folder, decoder, text):
    heads, size = text.num_key_value_heads, text.hidden_size // text.num_attention_heads
    past, steps = 3, 4
    names = [f"past_key_values.{layer}.{part}" for layer in range(text.num_hidden_layers) for part in ("key", "value")]
    present = [name.replace("past_key_values", "present") for name in names]
    positions = torch.arange(past, past + steps)[None]
    if decoder.multimodal:
        positions = positions[None].expand(3, 1, steps)
    inputs = (
        torch.randn(1, steps, text.hidden_size), torch.ones(1, past + steps, dtype=torch.int64), positions,
        *(torch.randn(1, heads, past, size) for _ in names),
    )
    step_axis = {2: "steps"} if decoder.multimodal else {1: "steps"}
    dynamic = {
        "inputs_embeds": {1: "steps"}, "attention_mask": {1: "total"}, "position_ids": step_axis, "logits": {1: "steps"},
        **{name: {2: "past"} for name in names}, **{name: {2: "total"} for name in present},
    }
    export(
        decoder, inputs, os.path.join(folder, "onnx", "decoder_model_merged.onnx"),
        ["inputs_embeds", "attention_mask", "position_ids", *names], ["logits", *present], dynamic,
    )


def export_embedding(folder, embedding):
    export(
        embedding, (torch.zeros(1, 4, dtype=torch.int64),), os.path.join(folder, "onnx", "embed_tokens.onnx"),
        ["input_ids"], ["inputs_embeds"], {"input_ids": {0: "batch", 1: "steps"}, "inputs_embeds": {0: "batch", 1: "steps"}},
    )


def spread(module, deviation):
    """Larger weights separate the logits, so that rounding cannot change a token."""
    with torch.no_grad():
        for weights in module.parameters():
            if weights.dim() > 1:
                weights.normal_(0, deviation)


def floats(tensor):
    return base64.b64encode(np.ascontiguousarray(tensor.detach().numpy().astype(np.float32)).tobytes()).decode()


def save(folder, model, processor, template):
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    model.config.save_pretrained(folder)
    processor.tokenizer.save_pretrained(folder)
    processor.image_processor.save_pretrained(folder)
    json.dump({"chat_template": template}, open(os.path.join(folder, "chat_template.json"), "w"))
    json.dump(
        {"eos_token_id": model.generation_config.eos_token_id, "bos_token_id": processor.tokenizer.bos_token_id},
        open(os.path.join(folder, "generation_config.json"), "w"),
    )


def cases_of(model, processor, conversations, template, pixels_of):
    """Runs each conversation, [[size, ...], text before the images or after], through processor and model."""
    cases = []
    for sizes, texts in conversations:
        images_of_case = [draw_image(*size, seed) for seed, size in enumerate(sizes)]
        content = [{"type": "image"} for _ in images_of_case]
        for index, text in enumerate(texts):
            content.insert(2 * index + 1, {"type": "text", "text": text})
        messages = [{"role": "user", "content": content}]
        prompt = processor.apply_chat_template(messages, chat_template=template, add_generation_prompt=True)
        inputs = processor(text=[prompt], images=images_of_case or None, return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs).logits[0, -1]
            generated = model.generate(**inputs, max_new_tokens=24, do_sample=False, repetition_penalty=1.0)
        ids = generated[0, inputs["input_ids"].shape[1]:].tolist()
        cases.append({
            "images": [list(size) for size in sizes],
            "content": content,
            "promptIds": inputs["input_ids"][0].tolist(),
            "pixels": pixels_of(inputs) if images_of_case else None,
            "logits": floats(logits),
            "outputIds": ids,
            "text": processor.tokenizer.decode(ids, skip_special_tokens=True),
        })
        print(len(cases), sizes, len(cases[-1]["promptIds"]), repr(cases[-1]["text"][:60]))
    return cases


def write(folder, cases, name):
    with open(os.path.join(folder, "..", name + ".json"), "w") as file:
        json.dump({"cases": cases}, file, indent=1)


def sampled(tensor):
    """Every seventh value and the shape; the sum tells about the rest."""
    values = tensor.reshape(-1)
    return {"shape": list(tensor.shape), "everySeventh": floats(values[::7]), "sum": float(values.double().sum())}


def tiny_idefics3(target):
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3ImageProcessor, Idefics3Processor

    folder = os.path.join(target, "tiny-idefics3")
    os.makedirs(os.path.join(folder, "onnx"))
    torch.manual_seed(14)
    rows = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *rows, "<global-img>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]
    tokenizer = tokenizer_of(special)
    template = (
        "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}"
        "{{':'}}{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
        "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
        "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
    )
    config = Idefics3Config(
        vision_config={
            "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 32, "patch_size": 8,
        },
        text_config={
            "model_type": "llama", "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "vocab_size": len(tokenizer), "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
            "pad_token_id": tokenizer.pad_token_id,
        },
        scale_factor=2, image_token_id=tokenizer.convert_tokens_to_ids("<image>"), pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False, attn_implementation="eager",
    )
    model = Idefics3ForConditionalGeneration(config).eval()
    spread(model, 0.3)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    images = Idefics3ImageProcessor(size={"longest_edge": 96}, max_image_size={"longest_edge": 32}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    processor = Idefics3Processor(images, tokenizer, image_seq_len=4)
    save(folder, model, processor, template)
    json.dump({"image_seq_len": 4, "processor_class": "Idefics3Processor"}, open(os.path.join(folder, "processor_config.json"), "w"))

    # The positions of a full tile, as the original finds them.
    seen = []
    hook = model.model.vision_model.embeddings.position_embedding.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    model.model.vision_model(torch.zeros(1, 3, 32, 32))
    hook.remove()
    positions = seen[0][0].clone()

    class Vision(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model.model

        def forward(self, pixel_values, pixel_attention_mask):
            # The published graphs use the mask to drop tiles that are padding; here it changes nothing.
            tiles = (pixel_values * pixel_attention_mask[:, :, None]).flatten(0, 1)
            vision = self.model.vision_model
            patches = vision.embeddings.patch_embedding(tiles).flatten(2).transpose(1, 2)
            states = patches + vision.embeddings.position_embedding(positions)
            states = vision.post_layernorm(vision.encoder(inputs_embeds=states).last_hidden_state)
            return self.model.connector(states)

    export(
        Vision(), (torch.randn(1, 1, 3, 32, 32), torch.ones(1, 1, 32, 32, dtype=torch.bool)),
        os.path.join(folder, "onnx", "vision_encoder.onnx"), ["pixel_values", "pixel_attention_mask"], ["image_features"], {},
    )
    export_embedding(folder, model.model.text_model.embed_tokens)
    export_decoder(folder, Decoder(model.model.text_model, model.lm_head, 2), config.text_config)
    cases = cases_of(model, processor, [
        ([(80, 64)], ["What is in this picture?"]),
        ([(200, 90)], ["Describe the image."]),
        ([(67, 131), (64, 64)], ["The first", "and the second."]),
        ([], ["Hello, how are you?"]),
    ], template, lambda inputs: sampled(inputs["pixel_values"]))
    write(folder, cases, "tiny-idefics3")


def tiny_llava(target):
    from transformers import CLIPImageProcessor, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

    folder = os.path.join(target, "tiny-llava")
    os.makedirs(os.path.join(folder, "onnx"))
    torch.manual_seed(15)
    tokenizer = tokenizer_of(["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<end_of_utterance>"], 320)
    template = (
        "{% for message in messages %}{{message['role'] | upper}}: {% for line in message['content'] %}{% if line['type'] == 'image' %}"
        "{{ '<image>\n' }}{% else %}{{ line['text'] }}{% endif %}{% endfor %}<end_of_utterance>{% endfor %}"
        "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
    )
    config = LlavaConfig(
        vision_config={
            "model_type": "clip_vision_model", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
            "image_size": 32, "patch_size": 8, "projection_dim": 16,
        },
        text_config=small_llama(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"), image_seq_length=16, tie_word_embeddings=False, attn_implementation="eager",
    )
    model = LlavaForConditionalGeneration(config).eval()
    spread(model, 0.3)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = LlavaProcessor(images, tokenizer, patch_size=8, vision_feature_select_strategy="default", num_additional_image_tokens=1)
    save(folder, model, processor, template)
    json.dump(
        {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1, "processor_class": "LlavaProcessor"},
        open(os.path.join(folder, "processor_config.json"), "w"),
    )

    class Vision(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model.model

        def forward(self, pixel_values):
            states = self.model.vision_tower(pixel_values, output_hidden_states=True).hidden_states[config.vision_feature_layer]
            return self.model.multi_modal_projector(states[:, 1:])

    export(
        Vision(), (torch.randn(1, 3, 32, 32),), os.path.join(folder, "onnx", "vision_encoder.onnx"), ["pixel_values"], ["image_features"],
        {"pixel_values": {0: "batch"}, "image_features": {0: "batch"}},
    )
    export_embedding(folder, model.model.language_model.embed_tokens)
    export_decoder(folder, Decoder(model.model.language_model, model.lm_head, 2), config.text_config)
    cases = cases_of(model, processor, [
        ([(80, 64)], ["What is in this picture?"]),
        ([(201, 90)], ["Describe the image."]),
        ([(67, 131), (64, 64)], ["The first shows a small boat on the river,", "and the second?"]),
        ([], ["Hello, how are you?"]),
    ], template, lambda inputs: sampled(inputs["pixel_values"]))
    write(folder, cases, "tiny-llava")


def small_llama(tokenizer):
    return {
        "model_type": "llama", "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": len(tokenizer), "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
        "pad_token_id": tokenizer.pad_token_id,
    }


class ImagesOfQwen:
    """What Qwen2VLProcessor does with images and text; the original also needs a processor of videos, and torchvision."""

    def __init__(self, image_processor, tokenizer, merge):
        self.image_processor, self.tokenizer, self.merge = image_processor, tokenizer, merge

    def apply_chat_template(self, messages, **options):
        return self.tokenizer.apply_chat_template(messages, tokenize=False, **options)

    def __call__(self, text, images, return_tensors):
        read = self.image_processor(images, return_tensors=return_tensors) if images else {}
        texts = text[0].split("<|image_pad|>")
        counts = [int(grid.prod()) // self.merge**2 for grid in read.get("image_grid_thw", [])]
        expanded = texts[0] + "".join("<|image_pad|>" * count + rest for count, rest in zip(counts, texts[1:]))
        return {**self.tokenizer([expanded], return_tensors=return_tensors), **read}


def tiny_qwen2_vl(target):
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.modeling_qwen2_vl import apply_rotary_pos_emb_vision

    folder = os.path.join(target, "tiny-qwen2-vl")
    os.makedirs(os.path.join(folder, "onnx"))
    torch.manual_seed(16)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<end_of_utterance>"]
    tokenizer = tokenizer_of(special)
    template = (
        "{% for message in messages %}<|im_start|>{{message['role']}}\n{% for line in message['content'] %}{% if line['type'] == 'image' %}"
        "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ line['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    patch, merge, heads = 8, 2, 2
    config = Qwen2VLConfig(
        vision_config={
            "depth": 2, "embed_dim": 16, "hidden_size": 24, "mlp_ratio": 2, "num_heads": heads, "patch_size": patch, "spatial_merge_size": merge,
            "temporal_patch_size": 2, "in_channels": 3,
        },
        text_config={
            **small_llama(tokenizer), "model_type": "qwen2_vl_text", "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 1]},
            "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"), video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        vision_start_token_id=tokenizer.convert_tokens_to_ids("<|vision_start|>"), vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
        tie_word_embeddings=False, attn_implementation="eager",
    )
    model = Qwen2VLForConditionalGeneration(config).eval()
    spread(model, 0.3)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    images = Qwen2VLImageProcessor(min_pixels=32 * 32, max_pixels=112 * 112, patch_size=patch, temporal_patch_size=2, merge_size=merge)
    processor = ImagesOfQwen(images, tokenizer, merge)
    save(folder, model, processor, template)

    class Vision(torch.nn.Module):
        """The encoder for one image of any size; the original reads the size from the grid in Python."""

        def __init__(self):
            super().__init__()
            self.visual = model.model.visual

        def forward(self, pixel_values, image_grid_thw):
            visual, count = self.visual, pixel_values.shape[0]
            index = torch.arange(count)
            block, inner = index // merge**2, index % merge**2
            columns = image_grid_thw[0, 2] // merge
            places = torch.stack([block // columns * merge + inner // merge, block % columns * merge + inner % merge], dim=-1)
            angles = (places[:, :, None] * visual.rotary_pos_emb.inv_freq).flatten(1)
            angles = torch.cat((angles, angles), dim=-1)
            states = visual.patch_embed(pixel_values)
            for layer in visual.blocks:
                query, key, value = layer.attn.qkv(layer.norm1(states)).reshape(count, 3, heads, -1).permute(1, 0, 2, 3).unbind(0)
                query, key = apply_rotary_pos_emb_vision(query, key, angles.cos(), angles.sin())
                weights = torch.einsum("qhd,khd->hqk", query, key) / query.shape[-1] ** 0.5
                mixed = torch.einsum("hqk,khd->qhd", weights.softmax(-1), value).reshape(count, -1)
                states = states + layer.attn.proj(mixed)
                states = states + layer.mlp(layer.norm2(states))
            return visual.merger(states)

    grid = torch.tensor([[1, 4, 6]])
    with torch.no_grad():
        sample = torch.randn(24, 3 * 2 * patch * patch)
        assert torch.allclose(Vision()(sample, grid), model.model.visual(sample, grid), atol=1e-5)
    export(
        Vision(), (sample, grid), os.path.join(folder, "onnx", "vision_encoder.onnx"), ["pixel_values", "image_grid_thw"], ["image_features"],
        {"pixel_values": {0: "patches"}, "image_features": {0: "tokens"}},
    )
    export_embedding(folder, model.model.language_model.embed_tokens)
    export_decoder(folder, Decoder(model.model.language_model, model.lm_head, 2, True), config.text_config)
    cases = cases_of(model, processor, [
        ([(80, 64)], ["What is in this picture?"]),
        ([(300, 90)], ["Describe the image."]),
        ([(67, 131), (24, 20)], ["The first", "and the second."]),
        ([], ["Hello, how are you?"]),
    ], template, lambda inputs: sampled(inputs["pixel_values"]))
    write(folder, cases, "tiny-qwen2-vl")


def main():
    target = sys.argv[1]
    wanted = sys.argv[2:] or ["idefics3", "llava", "qwen2-vl"]
    for name in wanted:
        shutil.rmtree(os.path.join(target, "tiny-" + name), ignore_errors=True)
        globals()["tiny_" + name.replace("-", "_")](target)


if __name__ == "__main__":
    main()
