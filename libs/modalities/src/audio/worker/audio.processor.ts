import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { open } from 'node:fs/promises';
import { noTokens, PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import { type SpeakInput, type SpeakOutput, speakTask } from '#inference/tasks';
import {
  audioContentTypes,
  type AudioFormat,
  audioHeadBytes,
  encodeAudio,
  type MediaTools,
  needsFfmpeg,
  saysItsLength,
  withAudioLength,
} from '#media';
import { isDiskFull } from '#platform/files';
import { type JobReport, type RunningJob, toolTimeMs } from '#queue';
import type { ArtifactStore } from '#storage';
import type { AudioJobPayload } from '../contract/index.js';
import { chaptersOf } from './chapters.js';
import { composedAudio } from './composed-audio.js';

export interface AudioProcessorDependencies {
  runner: TaskRunner;
  artifacts: ArtifactStore;
  media: MediaTools;
}

/** Silence between two chapters. */
const chapterPauseSeconds = 2;

/**
 * Speaks a long text sentence by sentence into one file, so that one or two sentences are in memory at a time. Music is
 * generated in one piece.
 */
export class AudioProcessor {
  constructor(private readonly dependencies: AudioProcessorDependencies) {}

  /** Rejects with a `PlatformError`, or with the signal's reason: partial audio is worth nothing. */
  async process(job: RunningJob<AudioJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { format, units, music } = job.envelope.payload;
    const { media, runner } = this.dependencies;
    if (needsFfmpeg(format)) await media.require();
    const audio = music ? composedAudio(job, music, runner) : this.speak(job);
    const first = await audio.next();
    if (first.done === true) {
      throw new PlatformError('INVALID_REQUEST', 'The prompt has nothing that this model can speak.', 'prompt');
    }
    const id = await this.store(job, first.value, audio);
    return {
      usage: { ...noTokens, units },
      cancelled: false,
      executionMs: Math.round(performance.now() - startedAt),
      artifacts: [id],
    };
  }

  /**
   * Returns the id of the stored audio. A format whose header states the length stays in a local file until the length
   * is known.
   */
  private async store(
    { envelope, signal }: RunningJob<AudioJobPayload>,
    first: SpeakOutput,
    rest: AsyncIterable<SpeakOutput>,
  ): Promise<string> {
    const { artifacts, media } = this.dependencies;
    const { format } = envelope.payload;
    let samples = 0;
    const counted = samplesOf(first, rest, (count) => (samples += count));
    const options = { format, sampleRate: first.sampleRate, signal, timeoutMs: toolTimeMs(envelope) };
    const encoded = encodeAudio(media, counted, options);
    const place = { kind: 'result', contentType: audioContentTypes[format], signal } as const;
    if (!saysItsLength(format)) return (await artifacts.put(encoded, place)).id;
    return await media.withFolder(async (folder) => {
      const path = join(folder, 'sound');
      await writeAudioFile(path, encoded, { format, samples: () => samples });
      return (await artifacts.put(createReadStream(path), place)).id;
    });
  }

  /** Speaks the next sentence when the consumer pulls it. */
  private async *speak(job: RunningJob<AudioJobPayload>): AsyncGenerator<SpeakOutput, void> {
    const { text, voice, speed, language } = job.envelope.payload;
    const chapters = chaptersOf(text);
    const total = chapters.flat().length;
    let count = 0;
    for (const [chapter, sentences] of chapters.entries()) {
      for (const [index, sentence] of sentences.entries()) {
        const input: SpeakInput = { text: sentence.text, before: sentence.before, voice: voice ?? '', speed, language };
        const said = await this.say(job, { input, index: count });
        if (index === 0 && chapter > 0) yield silence(said.sampleRate);
        if (said.samples.length > 0) yield said;
        count += 1;
        job.progress(Math.min(99, (count / total) * 100));
      }
    }
  }

  private async say(
    { envelope, signal }: RunningJob<AudioJobPayload>,
    { input, index }: { input: SpeakInput; index: number },
  ): Promise<SpeakOutput> {
    signal.throwIfAborted();
    const request = { id: `${envelope.requestId}.${index}`, task: speakTask, input };
    const { cancelled, output } = await this.dependencies.runner.runTask(request, { signal });
    if (cancelled || output === null) {
      signal.throwIfAborted();
      throw new PlatformError('INFERENCE_FAILED', 'A sentence of the text could not be spoken.');
    }
    return output as SpeakOutput;
  }
}

function silence(sampleRate: number): SpeakOutput {
  return { samples: new Float32Array(Math.round(sampleRate * chapterPauseSeconds)), sampleRate };
}

async function* samplesOf(
  first: SpeakOutput,
  rest: AsyncIterable<SpeakOutput>,
  count: (samples: number) => void,
): AsyncGenerator<Float32Array> {
  count(first.samples.length);
  yield first.samples;
  for await (const { samples } of rest) {
    count(samples.length);
    yield samples;
  }
}

/**
 * Writes encoded audio into a new file, and its length into the header once it is complete. `samples` is called at the
 * end. Rejects with `STORAGE_FULL` when the disk is full, and as `chunks` does; the caller deletes the file.
 */
async function writeAudioFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  { format, samples }: { format: AudioFormat; samples: () => number },
): Promise<void> {
  const file = await open(path, 'w+', 0o600);
  try {
    let bytes = 0;
    for await (const chunk of chunks) {
      await file.writeFile(chunk);
      bytes += chunk.length;
    }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(audioHeadBytes), 0, audioHeadBytes, 0);
    const head = withAudioLength(buffer.subarray(0, bytesRead), { format, bytes, samples: samples() });
    await file.write(head, 0, head.length, 0);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new PlatformError('STORAGE_FULL', 'The service has no storage left for this audio at the moment.');
  } finally {
    await file.close();
  }
}
