import { noTokens, PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import {
  type Sentence,
  type SpeakInput,
  type SpeakOutput,
  speakTask,
  splitSentences,
  type VoiceSample,
} from '#inference/tasks';
import { audioContentTypes, decodeWholeAudio, encodeAudio, type MediaTools, needsFfmpeg } from '#media';
import { type JobReport, type RunningJob, toolTimeMs } from '#queue';
import type { ArtifactStore } from '#storage';
import type { AudioEndedEvent, SpeechJobPayload } from '../contract/index.js';
import { AudioSender } from './audio-sender.js';

/** Queues samples between the model and the encoder; the encoder pulls, the model does not wait. */
class SampleQueue implements AsyncIterable<Float32Array> {
  private readonly waiting: Float32Array[] = [];
  private ended = false;
  private wake: () => void = () => undefined;

  push(samples: Float32Array): void {
    this.waiting.push(samples);
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Float32Array, void, undefined> {
    for (;;) {
      const samples = this.waiting.shift();
      if (samples !== undefined) yield samples;
      else if (this.ended) return;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

export interface SpeechProcessorDependencies {
  runner: TaskRunner;
  artifacts: ArtifactStore;
  media: MediaTools;
}

/** Sample rate and maximum length, in seconds, of a recording passed to a voice-cloning model. */
const sampleRateOfVoices = 24_000;
const maxSampleSeconds = 60;

/** Speaks one text sentence by sentence: the model works on the next sentence while one is encoded and sent. */
export class SpeechProcessor {
  constructor(private readonly dependencies: SpeechProcessorDependencies) {}

  /**
   * Rejects with a `PlatformError`; `INVALID_REQUEST` when there is nothing to speak. A cancelled job resolves, with
   * the characters of the spoken sentences.
   */
  async process(job: RunningJob<SpeechJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { format } = job.envelope.payload;
    // Checked before the model runs for audio that cannot be encoded.
    if (needsFfmpeg(format)) await this.dependencies.media.require();
    const run = new SpeechRun(job, this.dependencies, await this.voiceOf(job));
    const cancelled = !(await run.speak());
    return {
      usage: { ...noTokens, units: { characters: run.characters } },
      cancelled,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }

  private async voiceOf({ envelope, signal }: RunningJob<SpeechJobPayload>): Promise<string | VoiceSample> {
    const { voice } = envelope.payload;
    const sampleId = envelope.payload.sampleId ?? null;
    if (sampleId === null) return voice ?? '';
    const { artifacts, media } = this.dependencies;
    const options = { sampleRate: sampleRateOfVoices, maxSeconds: maxSampleSeconds, signal };
    const samples = await artifacts.withFile(sampleId, (path) => decodeWholeAudio(media, { path }, options));
    return { samples, sampleRate: sampleRateOfVoices };
  }
}

/** Passes one text through model, encoder and reply channel. */
class SpeechRun {
  /** Characters of the spoken sentences. */
  characters = 0;
  private samples = 0;
  private readonly queue = new SampleQueue();
  private readonly sender: AudioSender;
  private encoding: Promise<void> | null = null;
  /** Stops the model when the audio cannot be written. */
  private readonly broken = new AbortController();

  constructor(
    private readonly job: RunningJob<SpeechJobPayload>,
    private readonly dependencies: SpeechProcessorDependencies,
    private readonly voice: string | VoiceSample,
  ) {
    const { format } = job.envelope.payload;
    this.sender = new AudioSender(job.replies, dependencies.artifacts, audioContentTypes[format]);
  }

  /** False: the job was cancelled. */
  async speak(): Promise<boolean> {
    try {
      for (const [index, sentence] of splitSentences(this.job.envelope.payload.text).entries()) {
        const said = await this.say(sentence, index);
        if (said === null) break;
        this.characters += sentence.characters;
        this.take(said);
      }
      this.queue.end();
      await this.encoding;
      if (this.job.signal.aborted) return false;
      if (this.samples === 0) throw nothingToSay();
      await this.sender.finish();
      const event: AudioEndedEvent = { type: 'audio-ended', samples: this.samples };
      this.job.replies.send(event);
      return true;
    } catch (error) {
      if (this.job.signal.aborted) return false;
      throw error;
    } finally {
      this.queue.end();
      this.sender.stop();
    }
  }

  /** Null when it was cancelled. */
  private async say(sentence: Sentence, index: number): Promise<SpeakOutput | null> {
    const { envelope, signal } = this.job;
    const { speed, language } = envelope.payload;
    const { text, before } = sentence;
    const input: SpeakInput = { text, before, voice: this.voice, speed, language: language ?? null };
    const request = { id: `${envelope.requestId}.${index}`, task: speakTask, input };
    const ends = AbortSignal.any([signal, this.broken.signal]);
    const { cancelled, output } = await this.dependencies.runner.runTask(request, { signal: ends });
    return cancelled ? null : (output as SpeakOutput);
  }

  private take({ samples, sampleRate }: SpeakOutput): void {
    if (samples.length === 0) return;
    this.encoding ??= this.startEncoder(sampleRate);
    this.samples += samples.length;
    this.queue.push(samples);
  }

  private startEncoder(sampleRate: number): Promise<void> {
    const encoding = this.encode(sampleRate);
    // It is awaited at the end of the text; until then nothing handles its rejection.
    encoding.catch(() => undefined);
    return encoding;
  }

  private async encode(sampleRate: number): Promise<void> {
    const { envelope, signal } = this.job;
    const { format } = envelope.payload;
    const options = { format, sampleRate, signal, timeoutMs: toolTimeMs(envelope) };
    try {
      for await (const bytes of encodeAudio(this.dependencies.media, this.queue, options)) {
        this.sender.add(bytes);
      }
    } catch (error) {
      this.broken.abort();
      throw error;
    }
  }
}

function nothingToSay(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'The input has nothing that this model can speak.', 'input');
}
