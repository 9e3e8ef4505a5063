"""Writes libs/inference/src/families/stable-diffusion/__fixtures__/tiny-xl and tiny-diffusion-xl.json: a tiny SDXL with random
weights and two text encoders in the layout of published exports, and the images that diffusers generates with it from the
noise of this project.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install diffusers==0.42.1 torch==2.15.0 transformers==5.23.0 onnx==1.23.2 onnxscript==0.7.2
    /tmp/reference/bin/python tools/reference/tiny_diffusion_xl.py libs/inference/src/families/stable-diffusion/__fixtures__
"""

import json
import os
import shutil
import sys

import diffusers
import torch
from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModelWithProjection

from noise import noise
from tiny_clip import LENGTH, clip_encoder, clip_tokenizer

target = sys.argv[1]
model = os.path.join(target, "tiny-xl")
shutil.rmtree(model, ignore_errors=True)
torch.manual_seed(8)

tokenizer, vocabulary = clip_tokenizer(os.path.join(model, "tokenizer"))
encoder = clip_encoder(vocabulary)
# As in published models, the second tokenizer has the same vocabulary but pads with "!", which is not an end token.
shutil.copytree(os.path.join(model, "tokenizer"), os.path.join(model, "tokenizer_2"))
settings = os.path.join(model, "tokenizer_2", "tokenizer_config.json")
with open(settings) as file:
    second_settings = {**json.load(file), "pad_token": "!"}
with open(settings, "w") as file:
    json.dump(second_settings, file)
second_tokenizer = type(tokenizer).from_pretrained(os.path.join(model, "tokenizer_2"))
second_encoder = CLIPTextModelWithProjection(
    CLIPTextConfig(
        vocab_size=len(vocabulary), hidden_size=12, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2,
        max_position_embeddings=LENGTH, projection_dim=10, bos_token_id=vocabulary["<|startoftext|>"],
        eos_token_id=vocabulary["<|endoftext|>"], hidden_act="gelu",
    )
).eval()
unet = UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=16 + 12, attention_head_dim=4, use_linear_projection=True, addition_embed_type="text_time",
    addition_time_embed_dim=8, transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=10 + 6 * 8,
).eval()
vae = AutoencoderKL(
    block_out_channels=(4, 8), norm_num_groups=2, latent_channels=4, scaling_factor=0.13025,
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
).eval()
scheduler = EulerDiscreteScheduler(
    beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", timestep_spacing="leading", steps_offset=1
)
for network in (encoder, second_encoder, unet, vae):
    network.requires_grad_(False)


class Encode(torch.nn.Module):
    def __init__(self, network, names):
        super().__init__()
        self.network, self.names = network, names

    def forward(self, input_ids):
        output = self.network(input_ids, output_hidden_states=True)
        return tuple(output[name] for name in self.names) + tuple(output.hidden_states)


class Denoise(torch.nn.Module):
    def forward(self, sample, timestep, encoder_hidden_states, text_embeds, time_ids):
        conditions = {"text_embeds": text_embeds, "time_ids": time_ids}
        return unet(sample, timestep, encoder_hidden_states, added_cond_kwargs=conditions, return_dict=False)[0]


class Decode(torch.nn.Module):
    def forward(self, latent_sample):
        return vae.decode(latent_sample, return_dict=False)[0]


def export(part, module, inputs, names, outputs, dynamic):
    os.makedirs(os.path.join(model, part), exist_ok=True)
    torch.onnx.export(
        module, inputs, os.path.join(model, part, "model.onnx"), input_names=names, output_names=outputs,
        dynamic_axes=dynamic, opset_version=17, dynamo=False,
    )


with torch.no_grad():
    for part, network, named, layers in (
        ("text_encoder", encoder, ["last_hidden_state"], 3),
        ("text_encoder_2", second_encoder, ["text_embeds", "last_hidden_state"], 4),
    ):
        outputs = named + [f"hidden_states.{layer}" for layer in range(layers)]
        ids = torch.zeros(1, LENGTH, dtype=torch.int64)
        export(part, Encode(network, named), (ids,), ["input_ids"], outputs, {"input_ids": {0: "batch"}})
    axes = {0: "batch", 2: "height", 3: "width"}
    batch = {0: "batch"}
    export(
        "unet", Denoise(),
        (torch.zeros(2, 4, 8, 8), torch.tensor([1]), torch.zeros(2, LENGTH, 28), torch.zeros(2, 10), torch.zeros(2, 6)),
        ["sample", "timestep", "encoder_hidden_states", "text_embeds", "time_ids"], ["out_sample"],
        {"sample": axes, "encoder_hidden_states": batch, "text_embeds": batch, "time_ids": batch},
    )
    export("vae_decoder", Decode(), (torch.zeros(1, 4, 8, 8),), ["latent_sample"], ["sample"], {"latent_sample": axes})
decoder = {"scaling_factor": 0.13025, "block_out_channels": [4, 8], "latent_channels": 4}
for part, config in (("unet", {}), ("vae_decoder", decoder)):
    with open(os.path.join(model, part, "config.json"), "w") as file:
        json.dump(config, file)
scheduler.save_pretrained(os.path.join(model, "scheduler"))
with open(os.path.join(model, "model_index.json"), "w") as file:
    json.dump({"_class_name": "StableDiffusionXLPipeline", "force_zeros_for_empty_prompt": True}, file)

pipeline = StableDiffusionXLPipeline(
    vae=vae, text_encoder=encoder, text_encoder_2=second_encoder, tokenizer=tokenizer, tokenizer_2=second_tokenizer, unet=unet,
    scheduler=scheduler, force_zeros_for_empty_prompt=True, add_watermarker=False,
)
PROMPT = "A red bird,  painting of 42 rivers!"
cases = []
for seed, negative, guidance, width, height, steps in [(7, "rain", 7.5, 16, 16, 5), (9, "", 4.0, 16, 24, 4), (11, "", 1.0, 24, 16, 3)]:
    latents = torch.from_numpy(noise(seed, 4 * (height // 2) * (width // 2))).reshape(1, 4, height // 2, width // 2)
    # No negative prompt is None here, because diffusers would encode an empty string.
    image = pipeline(
        PROMPT, negative_prompt=negative or None, latents=latents, guidance_scale=guidance, width=width, height=height,
        num_inference_steps=steps, output_type="np",
    ).images[0]
    cases.append({"seed": seed, "negative": negative, "guidance": guidance, "width": width, "height": height, "steps": steps,
                  "samples": (image * 255).round().astype(int).ravel().tolist()})
padded = second_tokenizer(PROMPT, padding="max_length", truncation=True, max_length=LENGTH).input_ids
with open(os.path.join(target, "tiny-diffusion-xl.json"), "w") as file:
    json.dump({"madeWith": "diffusers " + diffusers.__version__, "prompt": PROMPT, "secondIds": padded, "cases": cases}, file)
    file.write("\n")
