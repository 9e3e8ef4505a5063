"""Writes libs/inference/src/diffusion/__fixtures__/schedulers.json: every step of the diffusers schedulers, with a synthetic
network and synthetic noise that the tests compute as well.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install diffusers==0.42.1 torch==2.15.0 transformers==5.23.0
    /tmp/reference/bin/python tools/reference/diffusion_schedulers.py > schedulers.json
"""

import json
import math
import sys

import diffusers
import torch

SIZE = 6
BASE = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "num_train_timesteps": 1000}

calls = 0


def noise(*_, **__):
    """Returns the noise of the n-th call."""
    global calls
    calls += 1
    return torch.tensor([[math.sin(7 * calls + 3 * i) for i in range(SIZE)]], dtype=torch.float64)


for module in (
    "scheduling_euler_ancestral_discrete",
    "scheduling_euler_discrete",
    "scheduling_ddim",
    "scheduling_lcm",
    "scheduling_dpmsolver_multistep",
):
    __import__("diffusers.schedulers." + module)
    if hasattr(sys.modules["diffusers.schedulers." + module], "randn_tensor"):
        sys.modules["diffusers.schedulers." + module].randn_tensor = noise


def network(sample, timestep):
    """A substitute for the UNet."""
    wave = torch.tensor([[math.cos(i + float(timestep) / 100) for i in range(SIZE)]], dtype=torch.float64)
    return 0.3 * torch.tanh(sample) + 0.5 * wave


def run(kind, config, steps, start=0):
    global calls
    calls = 0
    scheduler = getattr(diffusers, kind)(**{**BASE, **config})
    scheduler.set_timesteps(steps)
    timesteps = scheduler.timesteps[start:]
    initial = noise()
    if start == 0:
        sample = initial * scheduler.init_noise_sigma
    else:
        # Starts from an image, as image-to-image does.
        image = torch.tensor([[0.2 * i - 0.5 for i in range(SIZE)]], dtype=torch.float64)
        if hasattr(scheduler, "set_begin_index"):
            scheduler.set_begin_index(start)
        sample = scheduler.add_noise(image, initial, timesteps[:1])
    samples = [sample[0].tolist()]
    for timestep in timesteps:
        scaled = scheduler.scale_model_input(sample, timestep)
        sample = scheduler.step(network(scaled, timestep), timestep, sample, return_dict=False)[0]
        samples.append(sample[0].tolist())
    return {
        "kind": kind,
        "config": config,
        "steps": steps,
        "start": start,
        "timesteps": [float(timestep) for timestep in timesteps],
        "samples": [[round(value, 6) for value in values] for values in samples],
    }


leading = {"timestep_spacing": "leading", "steps_offset": 1}
velocity = {"prediction_type": "v_prediction"}
cases = [
    ("EulerDiscreteScheduler", leading, 10, 0),
    ("EulerDiscreteScheduler", {"timestep_spacing": "linspace"}, 7, 0),
    ("EulerDiscreteScheduler", {"timestep_spacing": "trailing"}, 1, 0),
    ("EulerDiscreteScheduler", {"timestep_spacing": "trailing", **velocity}, 4, 0),
    ("EulerDiscreteScheduler", {**leading, "use_karras_sigmas": True}, 8, 0),
    ("EulerDiscreteScheduler", leading, 10, 4),
    ("EulerAncestralDiscreteScheduler", leading, 10, 0),
    ("EulerAncestralDiscreteScheduler", {"timestep_spacing": "trailing"}, 1, 0),
    ("EulerAncestralDiscreteScheduler", {**leading, **velocity}, 6, 2),
    ("DDIMScheduler", {**leading, "set_alpha_to_one": False, "clip_sample": False}, 10, 0),
    ("DDIMScheduler", {"timestep_spacing": "trailing", "clip_sample": False, **velocity}, 6, 0),
    ("DDIMScheduler", {**leading, "set_alpha_to_one": False, "clip_sample": False}, 10, 5),
    ("DPMSolverMultistepScheduler", {"timestep_spacing": "linspace"}, 10, 0),
    ("DPMSolverMultistepScheduler", {**leading, "use_karras_sigmas": True}, 20, 0),
    ("DPMSolverMultistepScheduler", {**leading, **velocity}, 8, 3),
    ("LCMScheduler", {"timestep_spacing": "leading"}, 4, 0),
    ("LCMScheduler", {"timestep_spacing": "leading"}, 8, 3),
]
json.dump(
    {"madeWith": "diffusers " + diffusers.__version__, "base": BASE, "cases": [run(*case) for case in cases]},
    sys.stdout,
)
print()
