import { PlatformError } from '#common';
import type { HostSupervisor, TaskResult } from '#inference/host';
import type { AnimateInput, AnimateOutput, ImageOutput } from '#inference/tasks';
import { encodeImage } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, withCheckHost } from './check-host.js';
import { writeCheckOutput } from './check-output.js';

export const videoFamily = 'text-to-video-sd';

const defaultSide = 256;
const frames = 8;
/** Fixed seed, so that every check gives the same video. */
const seed = 1;

/** Generates a few frames with a text-to-video model, writes the last one as PNG and reports the timing. */
export async function checkVideo(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const { id, familyOptions } = model.manifest;
  const side = Number(familyOptions?.shortSide ?? defaultSide);
  const input: AnimateInput = { prompt: options.prompt, negativePrompt: '', width: side, height: side, frames, seed };
  const { image, ...times } = await withCheckHost(model, { options, signal }, (host) => run(host, input, signal));
  const content = await encodeImage({ ...image, channels: 3 }, { format: 'png' });
  const path = await writeCheckOutput(options.output ?? `${id}.png`, content);
  const { width, height } = image;
  if (options.json) return output.json({ id, ...times, frames, width, height, output: path });
  output.line(`${id} on ${times.provider}, loaded in ${Math.round(times.loadMs)} ms`);
  const perStep = times.stepMs === null ? '' : `, ${Math.round(times.stepMs)} ms a step`;
  output.line(
    `${frames} frames in ${Math.round(times.runMs)} ms${perStep}, ${Math.round(times.frameMs)} ms to decode one`,
  );
  output.line(`last frame, ${width} × ${height} pixels, in ${path}`);
}

async function run(host: HostSupervisor, input: AnimateInput, signal: AbortSignal) {
  const startMs = performance.now();
  const progressMs: number[] = [startMs];
  const onProgress = () => void progressMs.push(performance.now());
  const video = await host.runTask({ id: 'check-video', task: 'animate', input }, { signal, onProgress });
  const runMs = performance.now() - startMs;
  const latents = (finished(video) as AnimateOutput).frames.at(-1) ?? {};
  const frame = await host.runTask({ id: 'check-frame', task: 'develop', input: latents }, { signal });
  const steps = progressMs.length - 1;
  return {
    provider: host.report?.provider ?? 'cpu',
    loadMs: host.report?.loadMs ?? 0,
    runMs,
    stepMs: steps === 0 ? null : ((progressMs.at(-1) ?? startMs) - startMs) / steps,
    frameMs: performance.now() - startMs - runMs,
    image: (finished(frame) as ImageOutput).image,
  };
}

function finished({ cancelled, output }: TaskResult): object {
  if (cancelled || output === null) throw new PlatformError('JOB_CANCELLED', 'The check was interrupted.');
  return output;
}
