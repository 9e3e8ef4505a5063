"""The noise schedule (diffusers' scaled_linear) and the sampler the platform uses: DPM-Solver++ 2M."""

import math
import torch

BETA_START, BETA_END, TRAIN_STEPS = 0.00085, 0.02, 1000


def signal_shares():
    betas = torch.linspace(BETA_START**0.5, BETA_END**0.5, TRAIN_STEPS, dtype=torch.float64) ** 2
    return (1 - betas).cumprod(0)


def timesteps(steps, spacing="trailing"):
    if spacing == "trailing":
        return [round(TRAIN_STEPS - i * TRAIN_STEPS / steps) - 1 for i in range(steps)]
    return [round(x) for x in torch.linspace(0, TRAIN_STEPS - 1, steps + 1, dtype=torch.float64).tolist()][::-1][:-1]


def dpm_solver(predict, x, steps=20, spacing="trailing"):
    """predict(x, t) -> v. As the platform's DPMSolverMultistepScheduler."""
    shares = signal_shares()
    ts = timesteps(steps, spacing)
    mix = [(math.sqrt(shares[t]), math.sqrt(1 - shares[t])) for t in ts] + [(1.0, 0.0)]

    def lam(m):
        return math.log(m[0]) - math.log(m[1])

    before = None
    for i, t in enumerate(ts):
        (a, s), (a2, s2) = mix[i], mix[i + 1]
        clean = a * x - s * predict(x, t)
        if s2 == 0:
            x = clean
            break
        target = clean
        if before is not None:
            ratio = (lam(mix[i]) - lam(mix[i - 1])) / (lam(mix[i + 1]) - lam(mix[i]))
            target = clean + 0.5 / ratio * (clean - before)
        before = clean
        x = s2 / s * x - a2 * math.expm1(lam(mix[i]) - lam(mix[i + 1])) * target
    return x
