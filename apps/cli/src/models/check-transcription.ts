import type { HostSupervisor } from '#inference/host';
import {
  recognitionBlockSeconds,
  type RecognitionInput,
  type RecognitionOutput,
  recognitionSampleRate,
  recognitionTask,
} from '#inference/tasks';
import { decodeWholeAudio, MediaTools } from '#media';
import type { InstalledModel } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { type CheckOptions, describeLoad, type LoadFacts, loadFacts, timeTask, withCheckHost } from './check-host.js';

interface TranscriptionCheck extends LoadFacts {
  /** Length of the recording that was read, in seconds. */
  seconds: number;
  runMs: number;
  /** Null without a recording. */
  text: string | null;
  language: string | null;
}

/**
 * Transcribes the first block of a recording and reports the timing. Without one, only the load is reported, which has
 * run every graph on a tone.
 */
export async function checkTranscription(
  context: CliContext,
  model: InstalledModel,
  options: CheckOptions,
): Promise<void> {
  const { signal, output } = context;
  const samples = options.audio === undefined ? null : await readRecording(options.audio, signal);
  const check = await withCheckHost(model, { options, signal }, (host) => run(host, samples, signal));
  const { id } = model.manifest;
  if (options.json) return output.json({ id, ...check });
  output.line(describeLoad(id, check));
  if (check.text === null) return output.line('its graphs ran on a tone; --audio <file> transcribes a recording');
  const language = check.language === null ? '' : ` (${check.language})`;
  output.line(`${check.seconds.toFixed(1)} s of audio in ${Math.round(check.runMs)} ms${language}`);
  output.line(check.text === '' ? 'no speech was found' : check.text);
}

async function readRecording(path: string, signal: AbortSignal): Promise<Float32Array> {
  const options = { sampleRate: recognitionSampleRate, maxSeconds: recognitionBlockSeconds, signal };
  return await decodeWholeAudio(await MediaTools.find(), { path }, options);
}

async function run(
  host: HostSupervisor,
  samples: Float32Array | null,
  signal: AbortSignal,
): Promise<TranscriptionCheck> {
  if (samples === null) return { ...loadFacts(host), seconds: 0, runMs: 0, text: null, language: null };
  const input: RecognitionInput = {
    samples,
    isLast: true,
    language: null,
    prompt: null,
    temperature: null,
    timestamps: 'none',
    memory: null,
  };
  const { output, seconds } = await timeTask(host, { task: recognitionTask, input }, { signal });
  const { segments, memory } = output as RecognitionOutput;
  const text = segments
    .map((segment) => segment.text)
    .join('')
    .trim();
  const read = samples.length / recognitionSampleRate;
  return { ...loadFacts(host), seconds: read, runMs: seconds * 1_000, text, language: memory.language };
}
