import { describe, expect, it } from 'vitest';
import fixture from './__fixtures__/schedulers.json' with { type: 'json' };
import { createScheduler } from './create-scheduler.js';
import type { SchedulerConfig } from './scheduler.js';

const size = 6;
const values = (of: (index: number) => number): Float32Array =>
  Float32Array.from({ length: size }, (_, index) => of(index));

/** The network, the noise and the picture that `tools/reference/diffusion_schedulers.py` made up. */
const network = (latents: Float32Array, timestep: number) =>
  values((index) => 0.3 * Math.tanh(latents[index] ?? 0) + 0.5 * Math.cos(index + timestep / 100));
const image = values((index) => 0.2 * index - 0.5);

function noiseSource() {
  let calls = 0;
  return () => {
    calls++;
    const call = calls;
    return values((index) => Math.sin(7 * call + 3 * index));
  };
}

describe('schedulers', () => {
  it.each(
    fixture.cases.map(
      (wanted) =>
        [`${wanted.kind} ${JSON.stringify(wanted.config)} ${wanted.steps} steps from ${wanted.start}`, wanted] as const,
    ),
  )('go step by step where the reference goes: %s', (_, wanted) => {
    const config: SchedulerConfig = { ...fixture.base, ...wanted.config, _class_name: wanted.kind };
    const noise = noiseSource();
    const scheduler = createScheduler(config, wanted.steps, noise);
    scheduler.timesteps.slice(wanted.start).forEach((timestep, index) => {
      // The reference keeps single precision here.
      expect(timestep).toBeCloseTo(wanted.timesteps[index] ?? NaN, 2);
    });
    expect(scheduler.timesteps).toHaveLength(wanted.start + wanted.timesteps.length);

    const initial = noise();
    let latents =
      wanted.start === 0
        ? initial.map((value) => value * scheduler.initialNoiseScale)
        : scheduler.addNoise(image, initial, wanted.start);
    for (const [index, expected] of wanted.samples.entries()) {
      expected.forEach((value, position) => expect(latents[position]).toBeCloseTo(value, 3));
      const step = wanted.start + index;
      const timestep = scheduler.timesteps[step];
      if (timestep !== undefined)
        latents = scheduler.step(network(scheduler.scaleInput(latents, step), timestep), latents, step);
    }
  });

  it('refuse what they do not know, by name', () => {
    expect(() => createScheduler({ _class_name: 'HeunScheduler' }, 4, noiseSource())).toThrow(/HeunScheduler.*LCM/);
    expect(() => createScheduler({ beta_schedule: 'sigmoid' }, 4, noiseSource())).toThrow(/beta_schedule "sigmoid"/);
  });
});
