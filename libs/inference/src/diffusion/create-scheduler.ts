import { PlatformError } from '#common';
import { DdimScheduler } from './ddim.scheduler.js';
import { DpmSolverScheduler } from './dpm-solver.scheduler.js';
import { EulerScheduler } from './euler.scheduler.js';
import { LcmScheduler } from './lcm.scheduler.js';
import type { DiffusionScheduler, SchedulerConfig } from './scheduler.js';

type SchedulerFactory = (config: SchedulerConfig, steps: number) => DiffusionScheduler;

/** Keyed by the class names of the diffusers layout. */
const makers: Readonly<Record<string, SchedulerFactory>> = {
  EulerDiscreteScheduler: (config, steps) => new EulerScheduler(config, steps, 'plain'),
  EulerAncestralDiscreteScheduler: (config, steps) => new EulerScheduler(config, steps, 'ancestral'),
  DDIMScheduler: (config, steps) => new DdimScheduler(config, steps),
  DPMSolverMultistepScheduler: (config, steps) => new DpmSolverScheduler(config, steps),
  LCMScheduler: (config, steps) => new LcmScheduler(config, steps),
  // Stable Diffusion 1 was published with these two. DPM-Solver++ reaches the same quality in fewer steps.
  PNDMScheduler: (config, steps) => new DpmSolverScheduler(config, steps),
};

/** Creates the scheduler that a model's configuration names. Throws `INVALID_MODEL` for an unknown name. */
export function createScheduler(config: SchedulerConfig, steps: number): DiffusionScheduler {
  const { _class_name: name = 'EulerDiscreteScheduler' } = config;
  const make = Object.hasOwn(makers, name) ? makers[name] : undefined;
  if (make !== undefined) return make(config, steps);
  const known = Object.keys(makers).join(', ');
  throw new PlatformError('INVALID_MODEL', `The scheduler ${name} is not known. Known schedulers: ${known}.`);
}
