import { PlatformError } from '#common';
import type { HostSupervisor } from '#inference/host';
import { type SpeakInput, type SpeakOutput, speakTask } from '#inference/tasks';
import { encodeWholeAudio, MediaTools } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, loadFacts, withCheckHost } from './check-host.js';
import { writeCheckOutput } from './check-output.js';

/** Speaks the prompt in the first voice of the model, writes it as WAV and reports the timing. */
export async function checkSpeech(context: CliContext, model: InstalledModel, options: CheckOptions): Promise<void> {
  const { signal, output } = context;
  const { id, kindMembers } = model.manifest;
  const { voices: [voice = ''] = [] } = (kindMembers ?? {}) as { voices?: string[] };
  const input: SpeakInput = { text: options.prompt, before: 'end', voice, speed: 1, language: null };
  const { samples, sampleRate, ...facts } = await withCheckHost(model, { options, signal }, (host) =>
    run(host, input, signal),
  );
  if (samples.length === 0) throw new PlatformError('INVALID_REQUEST', `${id} speaks nothing of "${options.prompt}".`);
  const audio = await encodeWholeAudio(await MediaTools.find(), samples, { format: 'wav', sampleRate });
  const path = await writeCheckOutput(options.output ?? `${id}.wav`, audio);
  const seconds = samples.length / sampleRate;
  if (options.json) return output.json({ id, voice, ...facts, seconds, sampleRate, output: path });
  output.line(`${id} on ${facts.provider}, loaded in ${Math.round(facts.loadMs)} ms`);
  if (facts.note !== null) output.line(facts.note);
  const perSecond = facts.runMs / 1_000 / seconds;
  output.line(
    `${seconds.toFixed(1)} s of speech as ${voice} in ${Math.round(facts.runMs)} ms, ${perSecond.toFixed(2)} s a second`,
  );
  output.line(`at ${sampleRate} Hz in ${path}`);
}

async function run(host: HostSupervisor, input: SpeakInput, signal: AbortSignal) {
  const startMs = performance.now();
  const { cancelled, output } = await host.runTask({ id: 'check-speech', task: speakTask, input }, { signal });
  if (cancelled || output === null) throw new PlatformError('JOB_CANCELLED', 'The check was interrupted.');
  return { ...loadFacts(host), runMs: performance.now() - startMs, ...(output as SpeakOutput) };
}
