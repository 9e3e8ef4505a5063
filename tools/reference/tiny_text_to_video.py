"""Writes libs/inference/src/families/text-to-video-sd/__fixtures__/: a tiny TextToVideoSDPipeline with random weights, exported
in the layout of the published models, and the frames that diffusers generates with it from the noise of this project.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install diffusers==0.35.2 torch==2.9.1 transformers==4.57.6 onnx==1.23.2
    /tmp/reference/bin/python tools/reference/tiny_text_to_video.py libs/inference/src/families/text-to-video-sd/__fixtures__
"""

import json
import os
import shutil
import sys

import diffusers
import torch
from diffusers import AutoencoderKL, DDIMScheduler, DPMSolverMultistepScheduler, TextToVideoSDPipeline, UNet3DConditionModel

from smaller_graph import shrink
from noise import noise
from tiny_clip import LENGTH, clip_encoder, clip_tokenizer

target = sys.argv[1]
model = os.path.join(target, "tiny")
shutil.rmtree(target, ignore_errors=True)
os.makedirs(model)
torch.manual_seed(17)

tokenizer, vocabulary = clip_tokenizer(os.path.join(model, "tokenizer"))
encoder = clip_encoder(vocabulary)
unet = UNet3DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(4, 8), norm_num_groups=2,
    down_block_types=("DownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "UpBlock3D"),
    cross_attention_dim=16, attention_head_dim=4,
).eval()
with torch.no_grad():
    # The temporal layers are initialized to zero. Random weights make them affect the result.
    for name, weights in unet.named_parameters():
        if "temp_convs" in name and "conv4" in name:
            weights.normal_(0, 0.2)
vae = AutoencoderKL(
    block_out_channels=(4, 8), norm_num_groups=2, latent_channels=4, scaling_factor=0.18215,
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
).eval()
scheduler = DDIMScheduler(
    beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False, steps_offset=1,
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


def export(part, module, inputs, names, output, dynamic):
    os.makedirs(os.path.join(model, part), exist_ok=True)
    torch.onnx.export(
        module, inputs, os.path.join(model, part, "model.onnx"), input_names=names, output_names=[output],
        dynamic_axes=dynamic, opset_version=17, dynamo=False,
    )
    shrink(os.path.join(model, part, "model.onnx"))


with torch.no_grad():
    export(
        "text_encoder", Encode(), (torch.zeros(1, LENGTH, dtype=torch.int32),), ["input_ids"], "last_hidden_state",
        {"input_ids": {0: "batch"}},
    )
    export(
        "unet", Denoise(), (torch.zeros(2, 4, 3, 8, 8), torch.tensor([1]), torch.zeros(2, LENGTH, 16)),
        ["sample", "timestep", "encoder_hidden_states"], "out_sample",
        {
            "sample": {0: "batch", 2: "frames", 3: "height", 4: "width"},
            "encoder_hidden_states": {0: "batch"},
        },
    )
    export(
        "vae_decoder", Decode(), (torch.zeros(1, 4, 8, 8),), ["latent_sample"], "sample",
        {"latent_sample": {0: "batch", 2: "height", 3: "width"}},
    )
configs = {
    "unet": {"_class_name": "UNet3DConditionModel", "in_channels": 4},
    "vae_decoder": {"scaling_factor": 0.18215, "block_out_channels": [4, 8], "latent_channels": 4},
}
for part, config in configs.items():
    with open(os.path.join(model, part, "config.json"), "w") as file:
        json.dump(config, file)
scheduler.save_pretrained(os.path.join(model, "scheduler"))
with open(os.path.join(model, "model_index.json"), "w") as file:
    json.dump({"_class_name": "TextToVideoSDPipeline"}, file)

PROMPT, NEGATIVE = "A red bird,  painting of 42 rivers!", "rain"
cases = []
for seed, guidance, width, height, frames, steps, solver in [
    (7, 9.0, 16, 16, 3, 4, None),
    (11, 1.0, 24, 16, 2, 3, None),
    (13, 4.0, 16, 16, 5, 6, "DPMSolverMultistepScheduler"),
]:
    used = scheduler if solver is None else DPMSolverMultistepScheduler.from_config(
        scheduler.config, timestep_spacing="leading"
    )
    pipeline = TextToVideoSDPipeline(vae=vae, text_encoder=encoder, tokenizer=tokenizer, unet=unet, scheduler=used)
    shape = (1, 4, frames, height // 2, width // 2)
    latents = torch.from_numpy(noise(seed, 4 * frames * shape[3] * shape[4])).reshape(shape)
    video = pipeline(
        PROMPT, negative_prompt=NEGATIVE, latents=latents, guidance_scale=guidance, width=width, height=height,
        num_frames=frames, num_inference_steps=steps, output_type="np",
    ).frames[0]
    assert video.shape == (frames, height, width, 3), video.shape
    cases.append({
        "seed": seed, "guidance": guidance, "width": width, "height": height, "frames": frames, "steps": steps,
        "scheduler": solver, "samples": [(frame * 255).round().astype(int).ravel().tolist() for frame in video],
    })
with open(os.path.join(target, "tiny-text-to-video.json"), "w") as file:
    json.dump({"madeWith": "diffusers " + diffusers.__version__, "prompt": PROMPT, "negative": NEGATIVE, "cases": cases}, file)
    file.write("\n")
