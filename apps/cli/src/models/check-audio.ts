import { PlatformError } from '#common';
import type { HostSupervisor, TaskRequest } from '#inference/host';
import { type ComposeInput, composeTask, type SpeakInput, speakTask } from '#inference/tasks';
import { encodeWholeAudio, MediaTools } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, loadFacts, withCheckHost } from './check-host.js';
import { writeCheckOutput } from './check-output.js';

/** Long enough to recognize music. */
const defaultSeconds = 5;
/** Fixed seed, so that every check gives the same music. */
const seed = 1;

/** Generates a few seconds of music from a prompt, writes them as WAV and reports the timing. */
export async function checkMusic(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { max_duration: max } = (model.manifest.kindMembers ?? {}) as { max_duration?: number };
  const seconds = Math.min(defaultSeconds, max ?? defaultSeconds);
  const input: ComposeInput = { prompt: options.prompt, seconds, seed };
  await checkAudio(
    context,
    { model, what: 'music', request: { id: 'check-music', task: composeTask, input } },
    options,
  );
}

/** Speaks the prompt in the first voice of the model, writes it as WAV and reports the timing. */
export async function checkSpeech(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { voices: [voice = ''] = [] } = (model.manifest.kindMembers ?? {}) as { voices?: string[] };
  const input: SpeakInput = { text: options.prompt, before: 'end', voice, speed: 1, language: null };
  const request = { id: 'check-speech', task: speakTask, input };
  await checkAudio(context, { model, what: `speech as ${voice}`, request }, options);
}

interface AudioCheck {
  model: InstalledModel;
  /** Name of the output in the report. */
  what: string;
  request: TaskRequest;
}

async function checkAudio(
  { signal, output }: CliContext,
  { model, what, request }: AudioCheck,
  options: CheckOptions,
): Promise<void> {
  const { id } = model.manifest;
  const { samples, sampleRate, ...facts } = await withCheckHost(model, { options, signal }, (host) =>
    run(host, request, signal),
  );
  if (samples.length === 0) throw new PlatformError('INVALID_REQUEST', `${id} makes no sound of "${options.prompt}".`);
  const audio = await encodeWholeAudio(await MediaTools.find(), samples, { format: 'wav', sampleRate });
  const path = await writeCheckOutput(options.output ?? `${id}.wav`, audio);
  const seconds = samples.length / sampleRate;
  if (options.json) return output.json({ id, ...facts, seconds, sampleRate, output: path });
  output.line(`${id} on ${facts.provider}, loaded in ${Math.round(facts.loadMs)} ms`);
  if (facts.note !== null) output.line(facts.note);
  const perSecond = facts.runMs / 1_000 / seconds;
  output.line(
    `${seconds.toFixed(1)} s of ${what} in ${Math.round(facts.runMs)} ms, ${perSecond.toFixed(2)} s a second`,
  );
  output.line(`at ${sampleRate} Hz in ${path}`);
}

async function run(host: HostSupervisor, request: TaskRequest, signal: AbortSignal) {
  const startMs = performance.now();
  const { cancelled, output } = await host.runTask(request, { signal });
  if (cancelled || output === null) throw new PlatformError('JOB_CANCELLED', 'The check was interrupted.');
  const audio = output as { samples: Float32Array; sampleRate: number };
  return { ...loadFacts(host), runMs: performance.now() - startMs, ...audio };
}
