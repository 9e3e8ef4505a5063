"""Writes libs/inference/src/families/vision-language/__fixtures__/checkpoints/: tiny vision-language models with random
weights as their authors publish them (safetensors in bfloat16, the published members of config.json, the published chat
template), and what transformers computes with them. Pillow 13 may resize rows before columns, which changes samples by one.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install transformers==5.23.0 torch==2.15.0 pillow==11.3.0
    /tmp/reference/bin/python tools/reference/tiny_vision_checkpoints.py libs/inference/src/families/vision-language/__fixtures__/checkpoints
"""

import json
import os
import shutil
import sys

import torch
from safetensors.torch import save_file

from tiny_vision_language import cases_of, floats, tokenizer_of

QWEN_SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<end_of_utterance>",
]

# As published with Qwen2-VL and Qwen2.5-VL.
QWEN2_TEMPLATE = (
    "{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n{% else %}"
    "{% for content in message['content'] %}{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
    "{% set image_count.value = image_count.value + 1 %}{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% elif content['type'] == 'video' or 'video' in content %}"
    "{% set video_count.value = video_count.value + 1 %}{% if add_vision_id %}Video {{ video_count.value }}: {% endif %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# The part of Qwen3-VL's template that has no tools.
QWEN3_TEMPLATE = (
    "{%- set image_count = namespace(value=0) %}\n{%- set video_count = namespace(value=0) %}\n{%- for message in messages %}\n"
    "    {%- if message.role == \"user\" %}\n        {{- '<|im_start|>' + message.role + '\\n' }}\n"
    "        {%- if message.content is string %}\n            {{- message.content }}\n        {%- else %}\n"
    "            {%- for content in message.content %}\n"
    "                {%- if content.type == 'image' or 'image' in content or 'image_url' in content %}\n"
    "                    {%- set image_count.value = image_count.value + 1 %}\n"
    "                    {%- if add_vision_id %}Picture {{ image_count.value }}: {% endif -%}\n"
    "                    <|vision_start|><|image_pad|><|vision_end|>\n"
    "                {%- elif 'text' in content %}\n                    {{- content.text }}\n                {%- endif %}\n"
    "            {%- endfor %}\n        {%- endif %}\n        {{- '<|im_end|>\\n' }}\n    {%- elif message.role == \"assistant\" %}\n"
    "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n"
)

# The part of Qwen3.5's template that has no tools and no system message; that of its small models, which do not think by default.
QWEN35_TEMPLATE = (
    "{%- set image_count = namespace(value=0) %}\n{%- macro render_content(content, do_vision_count, is_system_content=false) %}\n"
    "    {%- if content is string %}\n        {{- content }}\n    {%- elif content is iterable and content is not mapping %}\n"
    "        {%- for item in content %}\n            {%- if 'image' in item or 'image_url' in item or item.type == 'image' %}\n"
    "                {%- if do_vision_count %}\n                    {%- set image_count.value = image_count.value + 1 %}\n"
    "                {%- endif %}\n                {%- if add_vision_id %}\n"
    "                    {{- 'Picture ' ~ image_count.value ~ ': ' }}\n                {%- endif %}\n"
    "                {{- '<|vision_start|><|image_pad|><|vision_end|>' }}\n            {%- elif 'text' in item %}\n"
    "                {{- item.text }}\n            {%- else %}\n"
    "                {{- raise_exception('Unexpected item type in content.') }}\n            {%- endif %}\n        {%- endfor %}\n"
    "    {%- elif content is none or content is undefined %}\n        {{- '' }}\n    {%- else %}\n"
    "        {{- raise_exception('Unexpected content type.') }}\n    {%- endif %}\n{%- endmacro %}\n"
    "{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\n{%- for message in messages[::-1] %}\n"
    "    {%- set index = (messages|length - 1) - loop.index0 %}\n    {%- if ns.multi_step_tool and message.role == \"user\" %}\n"
    "        {%- set content = render_content(message.content, false)|trim %}\n"
    "        {%- if not(content.startswith('<tool_response>') and content.endswith('</tool_response>')) %}\n"
    "            {%- set ns.multi_step_tool = false %}\n            {%- set ns.last_query_index = index %}\n        {%- endif %}\n"
    "    {%- endif %}\n{%- endfor %}\n{%- for message in messages %}\n"
    "    {%- set content = render_content(message.content, true)|trim %}\n    {%- if message.role == \"user\" %}\n"
    "        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}\n"
    "    {%- elif message.role == \"assistant\" %}\n        {%- if '</think>' in content %}\n"
    "            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n        {%- endif %}\n"
    "        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}\n    {%- else %}\n"
    "        {{- raise_exception('Unexpected message role.') }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n"
    "    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is true %}\n"
    "        {{- '<think>\\n' }}\n    {%- else %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- endif %}"
)


class ImagesOfQwen:
    """What the processors of Qwen do with images and text; the originals also need torchvision."""

    def __init__(self, image_processor, tokenizer):
        self.image_processor, self.tokenizer = image_processor, tokenizer

    def apply_chat_template(self, messages, **options):
        return self.tokenizer.apply_chat_template(messages, tokenize=False, **options)

    def __call__(self, text, images, return_tensors):
        read = self.image_processor(images, return_tensors=return_tensors) if images else {}
        texts = text[0].split("<|image_pad|>")
        counts = [int(grid.prod()) // self.image_processor.merge_size**2 for grid in read.get("image_grid_thw", [])]
        expanded = texts[0] + "".join("<|image_pad|>" * count + rest for count, rest in zip(counts, texts[1:]))
        inputs = {**self.tokenizer([expanded], return_tensors=return_tensors), **read}
        if images:
            inputs["mm_token_type_ids"] = (inputs["input_ids"] == self.tokenizer.convert_tokens_to_ids("<|image_pad|>")).int()
        return inputs


def randomize(model, deviation):
    """Weights that separate the logits, exact in bfloat16; biases and gains count too."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1:
                weights.normal_(0, deviation)
            elif name.endswith("bias"):
                weights.normal_(0, 0.1)
            else:
                weights.normal_(1, 0.1)
            weights.copy_(weights.bfloat16().float())


def save(folder, model, tokenizer, rename, files, added={}):
    os.makedirs(folder)
    stored, seen = {}, set()
    for name, tensor in model.state_dict().items():
        # Of weights that are one, the first is stored.
        if tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        # Published files of Qwen3-VL have experts with the inputs first.
        if ".mlp.experts." in name and model.config.model_type == "qwen3_vl_moe":
            tensor = tensor.transpose(1, 2)
        stored[rename(name)] = tensor.bfloat16().contiguous()
    save_file(stored | added, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)
    for name in os.listdir(folder):
        if name not in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            os.remove(os.path.join(folder, name))
    for name, content in files.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file, indent=1)


def qwen_preprocessor(patch, mean, deviation):
    return {
        "size": {"longest_edge": 320 * 320, "shortest_edge": 64 * 64}, "patch_size": patch, "temporal_patch_size": 2, "merge_size": 2,
        "image_mean": mean, "image_std": deviation, "processor_class": "Qwen3VLProcessor", "image_processor_type": "Qwen2VLImageProcessorFast",
    }


CONVERSATIONS = [
    ([(80, 64)], ["What is in this picture?"]),
    ([(300, 190)], ["Describe the image."]),
    ([(67, 131), (24, 20)], ["The first", "and the second."]),
    ([], ["Hello, how are you?"]),
]


def write_cases(folder, model, processor, template, features, conversations=CONVERSATIONS):
    cases = cases_of(model, processor, conversations, template, lambda inputs: {"features": features(inputs)})
    with open(folder + ".json", "w") as file:
        json.dump({"cases": cases}, file, indent=1)


def ids_of(tokenizer):
    return {
        "image_token_id": tokenizer.convert_tokens_to_ids("<|image_pad|>"), "video_token_id": tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        "vision_start_token_id": tokenizer.convert_tokens_to_ids("<|vision_start|>"), "vision_end_token_id": tokenizer.convert_tokens_to_ids("<|vision_end|>"),
    }


# As published with Gemma 3.
GEMMA_TEMPLATE = (
    "{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n    {%- if messages[0]['content'] is string -%}\n"
    "        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}\n    {%- else -%}\n"
    "        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}\n    {%- endif -%}\n"
    "    {%- set loop_messages = messages[1:] -%}\n{%- else -%}\n    {%- set first_user_prefix = \"\" -%}\n"
    "    {%- set loop_messages = messages -%}\n{%- endif -%}\n{%- for message in loop_messages -%}\n"
    "    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}\n"
    "        {{ raise_exception(\"Conversation roles must alternate user/assistant/user/assistant/...\") }}\n    {%- endif -%}\n"
    "    {%- if (message['role'] == 'assistant') -%}\n        {%- set role = \"model\" -%}\n    {%- else -%}\n"
    "        {%- set role = message['role'] -%}\n    {%- endif -%}\n"
    "    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else \"\") }}\n"
    "    {%- if message['content'] is string -%}\n        {{ message['content'] | trim }}\n"
    "    {%- elif message['content'] is iterable -%}\n        {%- for item in message['content'] -%}\n"
    "            {%- if item['type'] == 'image' -%}\n                {{ '<start_of_image>' }}\n"
    "            {%- elif item['type'] == 'text' -%}\n                {{ item['text'] | trim }}\n            {%- endif -%}\n"
    "        {%- endfor -%}\n    {%- else -%}\n        {{ raise_exception(\"Invalid content type\") }}\n    {%- endif -%}\n"
    "    {{ '<end_of_turn>\n' }}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n    {{'<start_of_turn>model\n'}}\n{%- endif -%}\n"
)


class ImagesOfGemma(ImagesOfQwen):
    """What Gemma3Processor does with images and text; the original needs torchvision."""

    def __init__(self, image_processor, tokenizer, tokens):
        super().__init__(image_processor, tokenizer)
        self.sequence = "\n\n<start_of_image>" + "<image_soft_token>" * tokens + "<end_of_image>\n\n"

    def __call__(self, text, images, return_tensors):
        read = self.image_processor(images, return_tensors=return_tensors) if images else {}
        begin = "<start_of_image>"
        texts = text[0].split(begin)
        expanded = texts[0]
        for crops, rest in zip(read.get("num_crops", []), texts[1:]):
            more = f" and here are some crops to help you see better {' '.join([begin] * int(crops))}"
            expanded += (f"Here is the original image {begin}{more}" if crops else begin) + rest
        inputs = dict(self.tokenizer([expanded.replace(begin, self.sequence)], return_tensors=return_tensors))
        if images:
            inputs["pixel_values"] = read["pixel_values"]
            inputs["token_type_ids"] = (inputs["input_ids"] == self.tokenizer.convert_tokens_to_ids("<image_soft_token>")).int()
        return inputs


def tiny_gemma3(target):
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    torch.manual_seed(36)
    tokenizer = tokenizer_of([
        "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>",
        "<image_soft_token>", "<end_of_utterance>",
    ])
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": tokenizer.convert_tokens_to_ids("<start_of_image>"),
        "eoi_token_index": tokenizer.convert_tokens_to_ids("<end_of_image>"), "eos_token_id": [tokenizer.eos_token_id],
        "image_token_index": tokenizer.convert_tokens_to_ids("<image_soft_token>"), "initializer_range": 0.02, "mm_tokens_per_image": 64,
        "model_type": "gemma3",
        "text_config": {
            "hidden_size": 32, "intermediate_size": 48, "model_type": "gemma3_text", "num_hidden_layers": 6, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 16, "query_pre_attn_scalar": 16, "vocab_size": len(tokenizer),
            "max_position_embeddings": 512, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 32,
        },
        "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0",
        "vision_config": {
            "hidden_size": 32, "image_size": 224, "intermediate_size": 40, "model_type": "siglip_vision_model", "num_attention_heads": 2,
            "num_hidden_layers": 2, "patch_size": 14, "vision_use_head": False,
        },
    }
    parsed = Gemma3Config.from_dict(json.loads(json.dumps(config)))
    model = Gemma3ForConditionalGeneration._from_config(parsed, attn_implementation="eager", dtype=torch.float32).eval()
    randomize(model, 0.3)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(0.25)
        # Gains are stored as their difference from one.
        for name, weights in model.named_parameters():
            if "norm" in name and "vision_tower" not in name:
                weights.sub_(1)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    images = {
        "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 2, "rescale_factor": 0.00392156862745098,
        "size": {"height": 224, "width": 224},
    }
    preprocessor = {
        "do_convert_rgb": None, "do_normalize": True, "do_pan_and_scan": None, "do_rescale": True, "do_resize": True,
        "image_processor_type": "Gemma3ImageProcessor", "image_seq_length": 64, **images, "pan_and_scan_max_num_crops": None,
        "pan_and_scan_min_crop_size": None, "pan_and_scan_min_ratio_to_activate": None, "processor_class": "Gemma3Processor",
    }
    folder = os.path.join(target, "gemma3")

    def rename(name):
        inner = name.replace("model.vision_tower.", "vision_tower.vision_model.")
        return inner.replace("model.language_model.", "language_model.model.").replace("model.multi_modal", "multi_modal")

    save(folder, model, tokenizer, rename, {
        "config.json": config, "preprocessor_config.json": preprocessor, "chat_template.json": {"chat_template": GEMMA_TEMPLATE},
        "processor_config.json": {"image_seq_length": 64, "processor_class": "Gemma3Processor"},
        "generation_config.json": {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": [tokenizer.eos_token_id]},
    })

    def features(inputs):
        with torch.no_grad():
            return floats(model.model.get_image_features(inputs["pixel_values"]).pooler_output)

    write_cases(folder, model, ImagesOfGemma(Gemma3ImageProcessorPil(**images), tokenizer, 64), GEMMA_TEMPLATE, features)
    crops = {
        "do_pan_and_scan": True, "pan_and_scan_min_crop_size": 32, "pan_and_scan_max_num_crops": 3, "pan_and_scan_min_ratio_to_activate": 1.2,
    }
    processor = ImagesOfGemma(Gemma3ImageProcessorPil(**images, **crops), tokenizer, 64)
    write_cases(folder + "-pan-and-scan", model, processor, GEMMA_TEMPLATE, features, [
        ([(301, 100)], ["Describe the image."]),
        ([(67, 131), (70, 64)], ["The first", "and the second."]),
    ])


def lengthen_memory(model):
    """Changes weights of Qwen3.5 so that states hold on to images; its gains are stored as their difference from one."""
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(0.5)
        for name, weights in model.named_parameters():
            if name.endswith("A_log"):
                weights.sub_(4)
            elif "norm" in name and "visual" not in name and "linear_attn" not in name:
                weights.sub_(1)
            weights.copy_(weights.bfloat16().float())


def finish(folder, model, tokenizer, config, preprocessor, template, rename, features, added={}):
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    randomize(model, 0.2)
    if "qwen3_5" in config["model_type"]:
        lengthen_memory(model)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    save(folder, model, tokenizer, rename, {
        "config.json": config, "preprocessor_config.json": preprocessor, "chat_template.json": {"chat_template": template},
        "generation_config.json": {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": [tokenizer.eos_token_id]},
    }, added)
    kept = {name: value for name, value in preprocessor.items() if name not in ("processor_class", "image_processor_type")}
    write_cases(folder, model, ImagesOfQwen(Qwen2VLImageProcessorPil(**kept), tokenizer), template, features)


def tiny_qwen3_vl(target):
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    write_qwen3(os.path.join(target, "qwen3-vl"), Qwen3VLConfig, Qwen3VLForConditionalGeneration)


def tiny_qwen3_vl_moe(target):
    from transformers import Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration

    write_qwen3(
        os.path.join(target, "qwen3-vl-moe"), Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration, "_moe",
        {"decoder_sparse_step": 1, "mlp_only_layers": [], "moe_intermediate_size": 16, "norm_topk_prob": True, "num_experts": 6,
         "num_experts_per_tok": 3, "num_hidden_layers": 2, "tie_word_embeddings": False},
        {"deepstack_visual_indexes": [0], "depth": 2, "hidden_size": 16, "intermediate_size": 16},
    )


def write_qwen3(target, config_class, model_class, kind="", text={}, vision={}):
    torch.manual_seed(33)
    tokenizer = tokenizer_of(QWEN_SPECIAL)
    config = {
        "architectures": [model_class.__name__], **ids_of(tokenizer), "model_type": "qwen3_vl" + kind,
        "text_config": {
            "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": tokenizer.bos_token_id, "dtype": "bfloat16",
            "eos_token_id": tokenizer.eos_token_id, "head_dim": 16, "hidden_act": "silu", "hidden_size": 32, "initializer_range": 0.02,
            "intermediate_size": 48, "max_position_embeddings": 512, "model_type": f"qwen3_vl{kind}_text", "num_attention_heads": 4,
            "num_hidden_layers": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
            "rope_scaling": {"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"}, "rope_theta": 5000000,
            "tie_word_embeddings": True, "use_cache": True, "vocab_size": len(tokenizer), **text,
        },
        "tie_word_embeddings": not text, "transformers_version": "4.57.0.dev0",
        "vision_config": {
            "deepstack_visual_indexes": [0, 1, 2], "depth": 4, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 32, "in_channels": 3,
            "initializer_range": 0.02, "intermediate_size": 40, "model_type": "qwen3_vl" + kind, "num_heads": 2, "num_position_embeddings": 36,
            "out_hidden_size": 32, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, **vision,
        },
    }
    model = model_class._from_config(config_class.from_dict(json.loads(json.dumps(config))), attn_implementation="eager", dtype=torch.float32).eval()

    def features(inputs):
        with torch.no_grad():
            found = model.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"])
        return floats(torch.cat([found.pooler_output, *found.deepstack_features], dim=-1))

    finish(
        target, model, tokenizer, config, qwen_preprocessor(16, [0.5] * 3, [0.5] * 3), QWEN3_TEMPLATE,
        lambda name: name, features,
    )


def tiny_qwen3_5(target):
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    write_qwen35(os.path.join(target, "qwen3.5"), 45, Qwen3_5Config, Qwen3_5ForConditionalGeneration, "", {
        "intermediate_size": 48, "mlp_only_layers": [], "tie_word_embeddings": True,
    })


def tiny_qwen3_5_moe(target):
    from transformers import Qwen3_5MoeConfig, Qwen3_5MoeForConditionalGeneration

    write_qwen35(os.path.join(target, "qwen3.5-moe"), 42, Qwen3_5MoeConfig, Qwen3_5MoeForConditionalGeneration, "_moe", {
        "moe_intermediate_size": 12, "num_experts": 6, "num_experts_per_tok": 3, "router_aux_loss_coef": 0.001,
        "shared_expert_intermediate_size": 24, "tie_word_embeddings": False,
    })


def write_qwen35(target, seed, config_class, model_class, kind, text):
    torch.manual_seed(seed)
    tokenizer = tokenizer_of(QWEN_SPECIAL)
    config = {
        "architectures": [model_class.__name__], **ids_of(tokenizer), "model_type": "qwen3_5" + kind,
        "text_config": {
            "attention_bias": False, "attention_dropout": 0.0, "attn_output_gate": True, "dtype": "bfloat16",
            "eos_token_id": tokenizer.eos_token_id, "full_attention_interval": 4, "head_dim": 32, "hidden_act": "silu", "hidden_size": 32,
            "initializer_range": 0.02, "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
            "linear_conv_kernel_dim": 4, "linear_key_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
            "linear_value_head_dim": 8, "mamba_ssm_dtype": "float32", "max_position_embeddings": 512,
            "model_type": f"qwen3_5{kind}_text", "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False,
            "num_attention_heads": 2, "num_hidden_layers": 4, "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
            # The base is small, so that a few patches turn their pairs.
            "rope_parameters": {
                "mrope_interleaved": True, "mrope_section": [2, 1, 1], "partial_rotary_factor": 0.25, "rope_theta": 100,
                "rope_type": "default",
            },
            "use_cache": True, "vocab_size": len(tokenizer), **text,
        },
        "tie_word_embeddings": text["tie_word_embeddings"], "transformers_version": "4.57.0.dev0",
        "vision_config": {
            "deepstack_visual_indexes": [], "depth": 2, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 32, "in_channels": 3,
            "initializer_range": 0.02, "intermediate_size": 40, "model_type": "qwen3_5" + kind, "num_heads": 2,
            "num_position_embeddings": 36, "out_hidden_size": 32, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
        },
    }
    model = model_class._from_config(config_class.from_dict(json.loads(json.dumps(config))), attn_implementation="eager", dtype=torch.float32).eval()

    def features(inputs):
        with torch.no_grad():
            return floats(model.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"]).pooler_output)

    # Published files have a layer that guesses a further token.
    added = {"mtp.fc.weight": torch.zeros(32, 64, dtype=torch.bfloat16)}
    finish(
        target, model, tokenizer, config, qwen_preprocessor(16, [0.5] * 3, [0.5] * 3), QWEN35_TEMPLATE, lambda name: name, features, added,
    )


CLIP_MEAN, CLIP_DEVIATION = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def flat_qwen(tokenizer, name, model_type, vision):
    """The members that Qwen2-VL and Qwen2.5-VL are published with, which are not nested."""
    return {
        "architectures": [name], "attention_dropout": 0.0, "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
        **ids_of(tokenizer), "vision_token_id": tokenizer.convert_tokens_to_ids("<|endoftext|>"), "hidden_act": "silu", "hidden_size": 32,
        "initializer_range": 0.02, "intermediate_size": 48, "max_position_embeddings": 512, "max_window_layers": 70,
        "model_type": model_type, "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
        "transformers_version": "4.41.2", "use_cache": True, "use_sliding_window": False, "vision_config": vision,
        "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}, "vocab_size": len(tokenizer),
    }


def older_names(name):
    return name.replace("model.visual.", "visual.").replace("model.language_model.", "model.")


def tiny_qwen2_vl(target):
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    torch.manual_seed(34)
    tokenizer = tokenizer_of(QWEN_SPECIAL)
    config = flat_qwen(tokenizer, "Qwen2VLForConditionalGeneration", "qwen2_vl", {
        "depth": 2, "embed_dim": 32, "mlp_ratio": 2, "num_heads": 2, "in_chans": 3, "hidden_size": 32, "patch_size": 14,
        "spatial_merge_size": 2, "spatial_patch_size": 14, "temporal_patch_size": 2,
    })
    finish_older("qwen2-vl", target, tokenizer, config, Qwen2VLConfig, Qwen2VLForConditionalGeneration)


def tiny_qwen2_5_vl(target):
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    torch.manual_seed(38)
    tokenizer = tokenizer_of(QWEN_SPECIAL)
    config = flat_qwen(tokenizer, "Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", {
        "depth": 3, "hidden_act": "silu", "hidden_size": 32, "intermediate_size": 40, "num_heads": 2, "in_chans": 3, "out_hidden_size": 32,
        "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1],
        "tokens_per_second": 2, "temporal_patch_size": 2,
    })
    finish_older("qwen2.5-vl", target, tokenizer, config, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration)


def finish_older(name, target, tokenizer, config, Config, Model):
    model = Model._from_config(Config.from_dict(json.loads(json.dumps(config))), attn_implementation="eager", dtype=torch.float32).eval()

    def features(inputs):
        with torch.no_grad():
            return floats(model.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"]).pooler_output)

    preprocessor = {
        "min_pixels": 64 * 64, "max_pixels": 320 * 320, "patch_size": 14, "temporal_patch_size": 2, "merge_size": 2, "image_mean": CLIP_MEAN,
        "image_std": CLIP_DEVIATION, "image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2VLProcessor",
    }
    finish(os.path.join(target, name), model, tokenizer, config, preprocessor, QWEN2_TEMPLATE, older_names, features)


# As published with SmolVLM.
SMOL_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}{{':'}}"
    "{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


class ImagesOfSmol(ImagesOfQwen):
    """What Idefics3Processor does with images and text; the original needs torchvision."""

    def __init__(self, image_processor, tokenizer, tokens):
        super().__init__(image_processor, tokenizer)
        self.tile = "<image>" * tokens

    def layout(self, rows, columns):
        lines = ["".join(f"<fake_token_around_image><row_{row + 1}_col_{column + 1}>" + self.tile for column in range(columns)) + "\n" for row in range(rows)]
        return "".join(lines) + ("\n" if rows else "") + "<fake_token_around_image><global-img>" + self.tile + "<fake_token_around_image>"

    def __call__(self, text, images, return_tensors):
        read = self.image_processor([images], return_tensors=return_tensors, return_row_col_info=True) if images else {}
        rows, columns = (read.pop("rows")[0], read.pop("cols")[0]) if images else ([], [])
        texts = text[0].split("<image>")
        expanded = texts[0] + "".join(self.layout(*grid) + rest for *grid, rest in zip(rows, columns, texts[1:]))
        return {**self.tokenizer([expanded], return_tensors=return_tensors), **read}


def tiny_smolvlm(target):
    from transformers import SmolVLMConfig, SmolVLMForConditionalGeneration

    tiles_model(target, "smolvlm", 40, SmolVLMConfig, SmolVLMForConditionalGeneration)


def tiny_idefics3(target):
    """The class of the first SmolVLM."""
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration

    tiles_model(target, "idefics3", 41, Idefics3Config, Idefics3ForConditionalGeneration)


def tiles_model(target, model_type, seed, Config, Model):
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    torch.manual_seed(seed)
    rows = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer = tokenizer_of([
        "<|endoftext|>", "<|im_start|>", "<|im_end|>", *rows, "<global-img>", "<fake_token_around_image>", "<image>", "<end_of_utterance>",
    ])
    config = {
        "architectures": [Model.__name__], "image_token_id": tokenizer.convert_tokens_to_ids("<image>"),
        "model_type": model_type, "pad_token_id": tokenizer.pad_token_id, "scale_factor": 3,
        "text_config": {
            "architectures": ["VLlama3ForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "head_dim": 16, "hidden_size": 32,
            "intermediate_size": 48, "is_llama_config": True, "max_position_embeddings": 512, "model_type": "llama",
            "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 2, "rms_norm_eps": 1e-05,
            "rope_interleaved": False, "rope_theta": 100000, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "vocab_size": len(tokenizer),
        },
        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.46.0", "use_cache": False,
        "vision_config": {
            "hidden_size": 32, "image_size": 168, "intermediate_size": 40, "max_image_size": {"longest_edge": 168}, "model_type": model_type + "_vision",
            "num_attention_heads": 2, "num_hidden_layers": 2, "patch_size": 14, "size": {"longest_edge": 672}, "use_base_siglip": False,
        },
        "vocab_size": len(tokenizer),
    }
    parsed = Config.from_dict(json.loads(json.dumps(config)))
    model = Model._from_config(parsed, attn_implementation="eager", dtype=torch.float32).eval()
    randomize(model, 0.2)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    sizes = {"size": {"longest_edge": 336}, "max_image_size": {"longest_edge": 168}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    preprocessor = {
        "do_convert_rgb": True, "do_image_splitting": True, "do_normalize": True, "do_pad": True, "do_rescale": True, "do_resize": True,
        "image_processor_type": "Idefics3ImageProcessor", "processor_class": "Idefics3Processor", "resample": 1,
        "rescale_factor": 0.00392156862745098, **sizes,
    }
    folder = os.path.join(target, model_type)
    save(folder, model, tokenizer, lambda name: name, {
        "config.json": config, "preprocessor_config.json": preprocessor, "chat_template.json": {"chat_template": SMOL_TEMPLATE},
        "processor_config.json": {"image_seq_len": 16, "processor_class": "Idefics3Processor"},
        "generation_config.json": {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": [tokenizer.eos_token_id]},
    })

    def features(inputs):
        with torch.no_grad():
            found = model.model.get_image_features(inputs["pixel_values"], inputs["pixel_attention_mask"]).pooler_output
        return floats(torch.cat([each.reshape(-1, each.shape[-1]) for each in found]))

    write_cases(folder, model, ImagesOfSmol(Idefics3ImageProcessorPil(**sizes), tokenizer, 16), SMOL_TEMPLATE, features)


# As published with LLaVA 1.5.
LLAVA_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': '}}{% endif %}{# Render all images first #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}{# Render all text next #}"
    "{% if message['role'] != 'assistant' %}{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ content['text'] + ' '}}{% endfor %}{% else %}{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{% generation %}{{ content['text'] + ' '}}{% endgeneration %}{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)


class ImagesOfLlava(ImagesOfQwen):
    """What LlavaProcessor does with images and text; the original needs torchvision."""

    def __call__(self, text, images, return_tensors):
        inputs = dict(self.tokenizer([text[0].replace("<image>", "<image>" * 25)], return_tensors=return_tensors))
        return {**inputs, **(self.image_processor(images, return_tensors=return_tensors) if images else {})}


def llava_names(name):
    """The names that LLaVA is published with."""
    inner = name.replace("model.vision_tower.", "vision_tower.").replace("vision_tower.vision_model.", "vision_tower.")
    inner = inner.replace("vision_tower.", "vision_tower.vision_model.").replace("model.language_model.", "language_model.model.")
    inner = inner.replace("model.multi_modal", "multi_modal").replace("model.image_newline", "image_newline")
    return inner.replace("lm_head", "language_model.lm_head")


def tiny_llava(target):
    from transformers import LlavaConfig, LlavaForConditionalGeneration
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(46)
    tokenizer = tokenizer_of(["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<end_of_utterance>"])
    config = {
        "architectures": ["LlavaForConditionalGeneration"], "ignore_index": -100, "image_seq_length": 25,
        "image_token_index": tokenizer.convert_tokens_to_ids("<image>"), "model_type": "llava", "pad_token_id": tokenizer.pad_token_id,
        "projector_hidden_act": "gelu",
        "text_config": {
            "_name_or_path": "lmsys/vicuna-7b-v1.5", "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 512, "model_type": "llama",
            "rms_norm_eps": 1e-05, "torch_dtype": "float16", "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 48,
            "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 4,
        },
        "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.36.0.dev0",
        "vision_config": {
            "hidden_size": 32, "image_size": 70, "intermediate_size": 40, "model_type": "clip_vision_model", "num_attention_heads": 2,
            "num_hidden_layers": 3, "patch_size": 14, "projection_dim": 24, "vocab_size": 32000,
        },
        "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "vocab_size": len(tokenizer),
    }
    parsed = LlavaConfig.from_dict(json.loads(json.dumps(config)))
    model = LlavaForConditionalGeneration._from_config(parsed, attn_implementation="eager", dtype=torch.float32).eval()
    randomize(model, 0.2)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    images = {
        "crop_size": {"height": 70, "width": 70}, "image_mean": CLIP_MEAN, "image_std": CLIP_DEVIATION, "resample": 3,
        "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 70},
    }
    preprocessor = {
        "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True, "do_rescale": True, "do_resize": True,
        "image_processor_type": "CLIPImageProcessor", "processor_class": "LlavaProcessor", **images,
    }
    folder = os.path.join(target, "llava")
    save(folder, model, tokenizer, llava_names, {
        "config.json": config, "preprocessor_config.json": preprocessor, "chat_template.json": {"chat_template": LLAVA_TEMPLATE},
        "processor_config.json": {
            "image_token": "<image>", "num_additional_image_tokens": 1, "patch_size": 14, "processor_class": "LlavaProcessor",
            "vision_feature_select_strategy": "default",
        },
        "generation_config.json": {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": [tokenizer.eos_token_id]},
    })

    def features(inputs):
        with torch.no_grad():
            found = model.model.get_image_features(inputs["pixel_values"]).pooler_output
        return floats(torch.cat([each.reshape(-1, each.shape[-1]) for each in found]))

    write_cases(folder, model, ImagesOfLlava(CLIPImageProcessorPil(**images), tokenizer), LLAVA_TEMPLATE, features)


# As published with LLaVA 1.6 and Mistral.
LLAVA_NEXT_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ '<<SYS>>\n' + message['content'][0]['text'] + '\n<</SYS>>\n\n' }}"
    "{% elif message['role'] == 'user' %}{{ '[INST] ' }}{# Render all images first #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}{# Render all text next #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}{{ content['text'] + ' [/INST]' }}{% endfor %}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'][0]['text'] + '</s> ' }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)


class ImagesOfLlavaNext(ImagesOfQwen):
    """What LlavaNextProcessor does with images and text; the number of tokens is that of the features."""

    def __init__(self, image_processor, tokenizer, model):
        super().__init__(image_processor, tokenizer)
        self.model = model

    def __call__(self, text, images, return_tensors):
        read = self.image_processor(images, return_tensors=return_tensors) if images else {}
        counts = []
        if images:
            with torch.no_grad():
                counts = [len(each) for each in self.model.model.get_image_features(**read).pooler_output]
        texts = text[0].split("<image>")
        expanded = texts[0] + "".join("<image>" * count + rest for count, rest in zip(counts, texts[1:]))
        return {**self.tokenizer([expanded], return_tensors=return_tensors), **read}


def tiny_llava_next(target):
    from transformers import LlavaNextConfig, LlavaNextForConditionalGeneration
    from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil

    torch.manual_seed(43)
    tokenizer = tokenizer_of(["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<end_of_utterance>"])
    resolutions = [[56, 112], [112, 56], [112, 112], [168, 56], [56, 168]]
    config = {
        "architectures": ["LlavaNextForConditionalGeneration"], "ignore_index": -100, "image_grid_pinpoints": resolutions,
        "image_token_index": tokenizer.convert_tokens_to_ids("<image>"), "model_type": "llava_next", "projector_hidden_act": "gelu",
        "text_config": {
            "architectures": ["MistralForCausalLM"], "hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": 512,
            "model_type": "mistral", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 2,
            "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": None, "torch_dtype": "bfloat16",
            "vocab_size": len(tokenizer),
        },
        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.39.0.dev0", "use_image_newline_parameter": True,
        "vision_config": {
            "hidden_size": 32, "image_size": 56, "intermediate_size": 40, "model_type": "clip_vision_model", "num_attention_heads": 2,
            "num_hidden_layers": 3, "patch_size": 14, "projection_dim": 32, "vocab_size": 32,
        },
        "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "vocab_size": len(tokenizer),
    }
    parsed = LlavaNextConfig.from_dict(json.loads(json.dumps(config)))
    model = LlavaNextForConditionalGeneration._from_config(parsed, attn_implementation="eager", dtype=torch.float32).eval()
    randomize(model, 0.2)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    images = {
        "crop_size": {"height": 56, "width": 56}, "image_grid_pinpoints": resolutions, "image_mean": CLIP_MEAN, "image_std": CLIP_DEVIATION,
        "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 56},
    }
    preprocessor = {
        "aspect_ratio_setting": "anyres", "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True, "do_rescale": True,
        "do_resize": True, "image_processor_type": "LlavaNextImageProcessor", "processor_class": "LlavaNextProcessor", **images,
    }
    folder = os.path.join(target, "llava-next")
    save(folder, model, tokenizer, llava_names, {
        "config.json": config, "preprocessor_config.json": preprocessor, "chat_template.json": {"chat_template": LLAVA_NEXT_TEMPLATE},
        "processor_config.json": {
            "image_token": "<image>", "num_additional_image_tokens": 1, "patch_size": 14, "processor_class": "LlavaNextProcessor",
            "vision_feature_select_strategy": "default",
        },
        "generation_config.json": {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": [tokenizer.eos_token_id]},
    })

    def features(inputs):
        with torch.no_grad():
            return floats(torch.cat(model.model.get_image_features(inputs["pixel_values"], inputs["image_sizes"]).pooler_output))

    processor = ImagesOfLlavaNext(LlavaNextImageProcessorPil(**images), tokenizer, model)
    long = [([(230, 70)], ["Describe the image."]), ([(64, 250)], ["What is in this picture?"])]
    write_cases(folder, model, processor, LLAVA_NEXT_TEMPLATE, features, CONVERSATIONS + long)


def main():
    target = sys.argv[1]
    os.makedirs(target, exist_ok=True)
    for name in sys.argv[2:] or [
        "gemma3", "idefics3", "llava", "llava-next", "smolvlm", "qwen2-vl", "qwen2.5-vl", "qwen3-vl", "qwen3-vl-moe",
        "qwen3.5", "qwen3.5-moe",
    ]:
        shutil.rmtree(os.path.join(target, name), ignore_errors=True)
        globals()["tiny_" + name.replace("-", "_").replace(".", "_")](target)


if __name__ == "__main__":
    main()
