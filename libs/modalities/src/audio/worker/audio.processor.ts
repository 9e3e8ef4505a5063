import { noTokens, PlatformError } from '#common';
import { type SpeakInput, type SpeakOutput, speakTask, type TaskRunner } from '#inference/host';
import { audioContentTypes, encodeAudio, type MediaTools, needsFfmpeg } from '#media';
import type { JobReport, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import type { AudioJobPayload } from '../contract/index.js';
import { chaptersOf } from './chapters.js';
import { composedSound } from './composed-sound.js';

export interface AudioParts {
  runner: TaskRunner;
  artifacts: ArtifactStore;
  media: MediaTools;
}

/** Silence between two chapters. */
const chapterPauseSeconds = 2;

/**
 * Says a long text sentence by sentence into one file: what is in flight is a sentence or two, however long it is. Music
 * comes as a whole.
 */
export class AudioProcessor {
  constructor(private readonly parts: AudioParts) {}

  /** Rejects with a `PlatformError`, or with the signal's reason: a part of a sound is worth nothing. */
  async process(job: RunningJob<AudioJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { signal, envelope } = job;
    const { format, units, music } = envelope.payload;
    const { media, artifacts, runner } = this.parts;
    if (needsFfmpeg(format)) media.require();
    const sound = music ? composedSound(job, music, runner) : this.speak(job);
    const first = await sound.next();
    if (first.done === true) {
      throw new PlatformError('INVALID_REQUEST', 'The prompt has nothing that this model can say.', 'prompt');
    }
    const { sampleRate } = first.value;
    const samples = samplesOf(first.value, sound);
    const length = music ? { samples: first.value.samples.length } : {};
    const encoded = encodeAudio(media, samples, { format, sampleRate, signal, ...length });
    const { id } = await artifacts.put(encoded, { kind: 'result', contentType: audioContentTypes[format], signal });
    return {
      usage: { ...noTokens, units },
      cancelled: false,
      executionMs: Math.round(performance.now() - startedAt),
      artifacts: [id],
    };
  }

  /** The next sentence is said when it is asked for. */
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
    const { cancelled, output } = await this.parts.runner.runTask(request, { signal });
    if (cancelled || output === null) {
      signal.throwIfAborted();
      throw new PlatformError('INFERENCE_FAILED', 'A sentence of the text was not said.');
    }
    return output as SpeakOutput;
  }
}

function silence(sampleRate: number): SpeakOutput {
  return { samples: new Float32Array(Math.round(sampleRate * chapterPauseSeconds)), sampleRate };
}

async function* samplesOf(first: SpeakOutput, rest: AsyncIterable<SpeakOutput>): AsyncGenerator<Float32Array> {
  yield first.samples;
  for await (const { samples } of rest) yield samples;
}
