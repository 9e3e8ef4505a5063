"""Writes libs/inference/src/families/stable-diffusion/__fixtures__/: a tiny Stable Diffusion with random weights, exported in
the layout of published models, and the images that diffusers generates with it from the noise of this project.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install diffusers==0.42.1 torch==2.15.0 transformers==5.23.0 onnx==1.23.2 onnxscript==0.7.2
    /tmp/reference/bin/python tools/reference/tiny_diffusion.py libs/inference/src/families/stable-diffusion/__fixtures__
"""

import json
import os
import shutil
import sys

import diffusers
import numpy as np
import torch
from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionImg2ImgPipeline, StableDiffusionPipeline
from diffusers import UNet2DConditionModel
from PIL import Image

from noise import noise
from tiny_clip import LENGTH, clip_encoder, clip_tokenizer

target = sys.argv[1]
model = os.path.join(target, "tiny")
shutil.rmtree(model, ignore_errors=True)
torch.manual_seed(5)

tokenizer, vocabulary = clip_tokenizer(os.path.join(model, "tokenizer"))
encoder = clip_encoder(vocabulary)
unet = UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=16, attention_head_dim=4,
).eval()
vae = AutoencoderKL(
    block_out_channels=(4, 8), norm_num_groups=2, latent_channels=4, scaling_factor=0.18215,
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
).eval()
scheduler = EulerDiscreteScheduler(
    beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", timestep_spacing="leading", steps_offset=1
)

for network in (encoder, unet, vae):
    network.requires_grad_(False)


class Encode(torch.nn.Module):
    def forward(self, input_ids):
        return encoder(input_ids).last_hidden_state


class Denoise(torch.nn.Module):
    def forward(self, sample, timestep, encoder_hidden_states):
        return unet(sample, timestep, encoder_hidden_states, return_dict=False)[0]


class Decode(torch.nn.Module):
    def forward(self, latent_sample):
        return vae.decode(latent_sample, return_dict=False)[0]


class EncodePicture(torch.nn.Module):
    def forward(self, sample):
        return vae.encode(sample).latent_dist.parameters


def export(part, module, inputs, names, output, dynamic):
    os.makedirs(os.path.join(model, part), exist_ok=True)
    torch.onnx.export(
        module, inputs, os.path.join(model, part, "model.onnx"), input_names=names, output_names=[output],
        dynamic_axes=dynamic, opset_version=17, dynamo=False,
    )


with torch.no_grad():
    export("text_encoder", Encode(), (torch.zeros(1, LENGTH, dtype=torch.int32),), ["input_ids"], "last_hidden_state", {"input_ids": {0: "batch"}})
    axes = {0: "batch", 2: "height", 3: "width"}
    export(
        "unet", Denoise(), (torch.zeros(2, 4, 8, 8), torch.tensor([1]), torch.zeros(2, LENGTH, 16)),
        ["sample", "timestep", "encoder_hidden_states"], "out_sample", {"sample": axes, "encoder_hidden_states": {0: "batch"}},
    )
    export("vae_decoder", Decode(), (torch.zeros(1, 4, 8, 8),), ["latent_sample"], "sample", {"latent_sample": axes})
    export("vae_encoder", EncodePicture(), (torch.zeros(1, 3, 16, 16),), ["sample"], "latent_parameters", {"sample": axes})
for part, config in (("unet", {}), ("vae_decoder", {"scaling_factor": 0.18215, "block_out_channels": [4, 8], "latent_channels": 4})):
    with open(os.path.join(model, part, "config.json"), "w") as file:
        json.dump(config, file)
scheduler.save_pretrained(os.path.join(model, "scheduler"))
with open(os.path.join(model, "model_index.json"), "w") as file:
    json.dump({"_class_name": "StableDiffusionPipeline"}, file)

parts = dict(vae=vae, text_encoder=encoder, tokenizer=tokenizer, unet=unet, scheduler=scheduler, safety_checker=None, feature_extractor=None)
PROMPT, NEGATIVE = "A red bird,  painting of 42 rivers!", "rain"
cases = []
for seed, guidance, width, height, steps in [(7, 7.5, 16, 16, 5), (11, 1.0, 24, 16, 3)]:
    pipeline = StableDiffusionPipeline(**parts, requires_safety_checker=False)
    latents = torch.from_numpy(noise(seed, 4 * (height // 2) * (width // 2))).reshape(1, 4, height // 2, width // 2)
    image = pipeline(
        PROMPT, negative_prompt=NEGATIVE, latents=latents, guidance_scale=guidance, width=width, height=height,
        num_inference_steps=steps, output_type="np",
    ).images[0]
    cases.append({"seed": seed, "guidance": guidance, "width": width, "height": height, "steps": steps, "image": None,
                  "samples": (image * 255).round().astype(int).ravel().tolist()})

start = np.array([[[(x * 16) % 256, (y * 16) % 256, (x * y) % 256] for x in range(16)] for y in range(16)], dtype=np.uint8)
pipeline = StableDiffusionImg2ImgPipeline(**parts, requires_safety_checker=False)
drawn = torch.from_numpy(noise(3, 4 * 8 * 8)).reshape(1, 4, 8, 8)
module = sys.modules["diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion_img2img"]
module.randn_tensor = lambda *_, **__: drawn
module.retrieve_latents = lambda output, *_, **__: output.latent_dist.mode()
image = pipeline(PROMPT, negative_prompt=NEGATIVE, image=Image.fromarray(start), strength=0.6, guidance_scale=4.0, num_inference_steps=5, output_type="np").images[0]
cases.append({"seed": 3, "guidance": 4.0, "width": 16, "height": 16, "steps": 5, "strength": 0.6, "image": start.ravel().tolist(),
              "samples": (image * 255).round().astype(int).ravel().tolist()})

texts = ["", PROMPT, "THE bird's  nest\n&  old\u00e9 \u6c34", "rain " * 40]
encoded = [{"text": text, "ids": tokenizer(text, padding="max_length", truncation=True, max_length=LENGTH).input_ids} for text in texts]
with open(os.path.join(target, "tiny-diffusion.json"), "w") as file:
    json.dump({"madeWith": "diffusers " + diffusers.__version__, "prompt": PROMPT, "negative": NEGATIVE, "cases": cases, "encoded": encoded}, file)
    file.write("\n")
