import { PlatformError } from '#common';
import type { HostSupervisor } from '#inference/host';
import { type ComposeInput, type ComposeOutput, composeTask } from '#inference/tasks';
import { encodeWholeAudio, MediaTools } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, withCheckHost } from './check-host.js';
import { writeCheckOutput } from './check-output.js';

/** Long enough to recognize music. */
const defaultSeconds = 5;
/** Fixed seed, so that every check gives the same music. */
const seed = 1;

/** Generates a few seconds of music from a prompt, writes them as WAV and reports the timing. */
export async function checkMusic(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const { id, kindMembers } = model.manifest;
  const { max_duration: max } = (kindMembers ?? {}) as { max_duration?: number };
  const input: ComposeInput = {
    prompt: options.prompt,
    seconds: Math.min(defaultSeconds, max ?? defaultSeconds),
    seed,
  };
  const { samples, sampleRate, ...times } = await withCheckHost(model, { options, signal }, (host) =>
    run(host, input, signal),
  );
  const audio = await encodeWholeAudio(await MediaTools.find(), samples, { format: 'wav', sampleRate });
  const path = await writeCheckOutput(options.output ?? `${id}.wav`, audio);
  const seconds = samples.length / sampleRate;
  if (options.json) return output.json({ id, ...times, seconds, sampleRate, output: path });
  output.line(`${id} on ${times.provider}, loaded in ${Math.round(times.loadMs)} ms`);
  const perSecond = times.runMs / 1_000 / seconds;
  output.line(`${seconds.toFixed(1)} s of music in ${Math.round(times.runMs)} ms, ${perSecond.toFixed(2)} s a second`);
  output.line(`at ${sampleRate} Hz in ${path}`);
}

async function run(host: HostSupervisor, input: ComposeInput, signal: AbortSignal) {
  const startMs = performance.now();
  const { cancelled, output } = await host.runTask({ id: 'check-music', task: composeTask, input }, { signal });
  if (cancelled || output === null) throw new PlatformError('JOB_CANCELLED', 'The check was interrupted.');
  const { provider = 'cpu', loadMs = 0 } = host.report ?? {};
  return { provider, loadMs, runMs: performance.now() - startMs, ...(output as ComposeOutput) };
}
