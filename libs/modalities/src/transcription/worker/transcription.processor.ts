import { noTokens, PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import {
  recognitionBlockSeconds,
  type RecognitionInput,
  type RecognitionMemory,
  type RecognitionOutput,
  recognitionSampleRate,
  recognitionTask,
  type RecognizedSegment,
} from '#inference/tasks';
import { decodeAudio, type MediaTools } from '#media';
import { type JobReport, type RunningJob, toolTimeMs } from '#queue';
import type { ArtifactStore } from '#storage';
import type {
  TranscriptFinishedEvent,
  TranscriptPartEvent,
  TranscriptSegment,
  TranscriptionJobPayload,
} from '../contract/index.js';
import { SampleBuffer } from './sample-buffer.js';

export interface TranscriptionProcessorDependencies {
  runner: TaskRunner;
  artifacts: ArtifactStore;
  media: MediaTools;
}

const blockSamples = recognitionBlockSeconds * recognitionSampleRate;

/** Runs one transcription: decodes the recording in pieces and has the model transcribe block after block. */
export class TranscriptionProcessor {
  constructor(private readonly dependencies: TranscriptionProcessorDependencies) {}

  /** Rejects with a `PlatformError`. A cancelled job resolves, with the seconds that were transcribed. */
  async process(job: RunningJob<TranscriptionJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const run = new TranscriptionRun(job, this.dependencies.runner);
    const { artifactId, maxSeconds } = job.envelope.payload;
    await this.dependencies.artifacts.withFile(artifactId, async (path) => {
      const decoding = {
        sampleRate: recognitionSampleRate,
        maxSeconds: maxSeconds,
        signal: job.signal,
        timeoutMs: toolTimeMs(job.envelope),
      };
      try {
        for await (const part of decodeAudio(this.dependencies.media, { path }, decoding)) {
          if (!(await run.take(part))) return;
        }
        await run.finish();
      } catch (error) {
        if (!job.signal.aborted) throw transcriptionError(error);
      }
    });
    const cancelled = job.signal.aborted;
    if (!cancelled) run.sendEnd();
    return {
      usage: { ...noTokens, units: { audioSeconds: cancelled ? run.doneSeconds : run.decodedSeconds } },
      cancelled,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }
}

/** Passes one recording through the model. */
class TranscriptionRun {
  private readonly buffer = new SampleBuffer();
  private decoded = 0;
  /** Samples before the first one in the buffer. */
  private done = 0;
  private blocks = 0;
  private memory: RecognitionMemory | null = null;
  private heardSpeech = false;

  constructor(
    private readonly job: RunningJob<TranscriptionJobPayload>,
    private readonly runner: TaskRunner,
  ) {}

  get decodedSeconds(): number {
    return this.decoded / recognitionSampleRate;
  }

  get doneSeconds(): number {
    return this.done / recognitionSampleRate;
  }

  /** Takes decoded samples and transcribes complete blocks. False: the job was cancelled. */
  async take(part: Float32Array): Promise<boolean> {
    this.buffer.push(part);
    this.decoded += part.length;
    // One sample more than a block: only then the block is known not to be the last one.
    while (this.buffer.length > blockSamples) if (!(await this.runBlock(false))) return false;
    return true;
  }

  /**
   * Transcribes the remainder. Throws `ASR_UPSTREAM_VALIDATION_FAILED` when the whole recording has no speech, unless the
   * payload allows that.
   */
  async finish(): Promise<void> {
    while (this.buffer.length > 0) if (!(await this.runBlock(this.buffer.length <= blockSamples))) return;
    const { mayBeSilent = false } = this.job.envelope.payload;
    if (!this.heardSpeech && !mayBeSilent) throw invalidRecording('Nobody speaks in the recording.');
  }

  sendEnd(): void {
    const event: TranscriptFinishedEvent = {
      type: 'transcript-finished',
      language: this.memory?.language ?? null,
      durationSeconds: this.decodedSeconds,
    };
    this.job.replies.send(event);
  }

  private async runBlock(isLast: boolean): Promise<boolean> {
    const { envelope, signal } = this.job;
    const { language, prompt, temperature, timestamps, translate } = envelope.payload;
    const input: RecognitionInput = {
      samples: this.buffer.peek(blockSamples),
      isLast,
      language: language ?? null,
      prompt: prompt ?? null,
      temperature: temperature ?? null,
      timestamps,
      ...(translate === true ? { translate } : {}),
      memory: this.memory,
    };
    const request = { id: `${envelope.requestId}.${this.blocks++}`, task: recognitionTask, input };
    const { cancelled, output } = await this.runner.runTask(request, { signal });
    if (cancelled || output === null) return false;
    const heard = output as RecognitionOutput;
    if (heard.consumedSamples <= 0) throw new PlatformError('INFERENCE_FAILED', 'The model made no progress.');
    this.sendSegments(heard.segments);
    this.memory = heard.memory;
    this.heardSpeech ||= heard.heardSpeech;
    this.done += Math.min(heard.consumedSamples, this.buffer.length);
    this.buffer.drop(heard.consumedSamples);
    this.job.progress(Math.min(100, (100 * this.doneSeconds) / envelope.payload.maxSeconds));
    return true;
  }

  private sendSegments(segments: readonly RecognizedSegment[]): void {
    if (segments.length === 0) return;
    const offset = this.doneSeconds;
    const event: TranscriptPartEvent = {
      type: 'transcript-part',
      segments: segments.map((segment) => placed(segment, offset)),
    };
    this.job.replies.send(event);
  }
}

function placed(segment: RecognizedSegment, offset: number): TranscriptSegment {
  const words =
    segment.words?.map(({ word, start, end }) => ({ word, start: start + offset, end: end + offset })) ?? null;
  return { ...segment, start: segment.start + offset, end: segment.end + offset, windowStart: offset, words };
}

/**
 * A recording that cannot be read to its end is an error of the caller (422); a recognizer failure is ours (502).
 * Neither is charged.
 */
function transcriptionError(error: unknown): unknown {
  if (!(error instanceof PlatformError) || error.code === 'INFERENCE_FAILED') {
    return new PlatformError('ASR_UPSTREAM_FAILED', 'The recognizer failed. Try once more.', null, { cause: error });
  }
  if (error.code === 'PAYLOAD_TOO_LARGE') return invalidRecording('The recording plays longer than its header says.');
  return error.code === 'INVALID_AUDIO_FORMAT' ? invalidRecording(error.message, error) : error;
}

function invalidRecording(message: string, cause?: unknown): PlatformError {
  return new PlatformError('ASR_UPSTREAM_VALIDATION_FAILED', message, 'file', { cause });
}
