import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { TaskRequest, TaskResult, TaskRunner } from '#inference/host';
import type { RecognitionInput, RecognitionOutput } from '#inference/tasks';
import type { MediaTools } from '#media';
import type { ReplyEvent, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import { tone, wavFile } from '#test/wav-file';
import type { TranscriptionJobPayload } from '../contract/index.js';
import { SampleBuffer } from './sample-buffer.js';
import { TranscriptionProcessor } from './transcription.processor.js';

const rate = 16_000;

function wav(seconds: number): Buffer {
  return wavFile(tone(seconds));
}

/** A model that hears one word in every block, and consumes `consumed` seconds of each. */
class WordPerBlock implements TaskRunner {
  readonly inputs: RecognitionInput[] = [];

  constructor(
    private readonly consumed = 30,
    private readonly onBlock: (index: number) => void = () => undefined,
  ) {}

  async runTask({ input }: TaskRequest, { signal }: { signal: AbortSignal }): Promise<TaskResult> {
    const block = input as RecognitionInput;
    this.inputs.push(block);
    this.onBlock(this.inputs.length);
    if (signal.aborted) return { cancelled: true, output: null };
    const word = `w${this.inputs.length}`;
    const scores = { tokens: [], temperature: 0, avgLogprob: 0, compressionRatio: 1, noSpeechProb: 0 };
    const output: RecognitionOutput = {
      consumedSamples: Math.min(block.samples.length, this.consumed * rate),
      heardSpeech: this.consumed > 0,
      segments: [
        { text: ` ${word}`, start: 1, end: 2, words: [{ word, start: 1, end: 2, probability: 1 }], ...scores },
      ],
      memory: { language: 'en', tail: [word] },
    };
    return { cancelled: false, output };
  }
}

describe('the transcription processor', () => {
  let folder: string;
  const files = new Map<string, Buffer>([
    ['long', wav(70)],
    ['short', wav(3)],
    ['cut', wav(3).subarray(0, 40)],
    ['empty', wav(0)],
  ]);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-transcription-'));
    for (const [name, bytes] of files) await writeFile(join(folder, name), bytes);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  function setUp(artifactId: string, runner: TaskRunner, { maxSeconds = 100, abort = new AbortController() } = {}) {
    const events: ReplyEvent[] = [];
    const progress: number[] = [];
    const artifacts = {
      withFile: (id: string, use: (path: string) => Promise<unknown>) => use(join(folder, id)),
    } as unknown as ArtifactStore;
    const payload: TranscriptionJobPayload = {
      artifactId,
      maxSeconds,
      language: null,
      prompt: null,
      temperature: null,
      timestamps: 'word',
    };
    const job = {
      envelope: { requestId: 'r', payload },
      signal: abort.signal,
      progress: (percent: number) => void progress.push(Math.round(percent)),
      replies: { send: (...sent: ReplyEvent[]) => void events.push(...sent) },
    } as unknown as RunningJob<TranscriptionJobPayload>;
    const processor = new TranscriptionProcessor({ runner, artifacts, media: {} as MediaTools });
    return { events, progress, run: () => processor.process(job) };
  }

  it('processes a long recording in blocks, each starting where the last one ended', async () => {
    const runner = new WordPerBlock(25);
    const { events, progress, run } = setUp('long', runner);
    const report = await run();
    expect(runner.inputs.map(({ samples, isLast }) => [samples.length / rate, isLast])).toEqual([
      [30, false],
      [30, false],
      [20, true],
    ]);
    expect(runner.inputs.map(({ memory }) => memory?.tail)).toEqual([undefined, ['w1'], ['w2']]);
    const starts = events.flatMap(
      (event) => (event as unknown as { segments?: { start: number; windowStart: number }[] }).segments ?? [],
    );
    expect(starts.map(({ start, windowStart }) => [start, windowStart])).toEqual([
      [1, 0],
      [26, 25],
      [51, 50],
    ]);
    expect(events.at(-1)).toEqual({ type: 'transcript-finished', language: 'en', durationSeconds: 70 });
    expect(report).toMatchObject({ cancelled: false, usage: { units: { audioSeconds: 70 } } });
    expect(progress).toEqual([25, 50, 70]);
  });

  it('charges the finished part when the client disconnects', async () => {
    const abort = new AbortController();
    const runner = new WordPerBlock(30, (index) => index === 2 && abort.abort());
    const { events, run } = setUp('long', runner, { abort });
    const report = await run();
    expect(report).toMatchObject({ cancelled: true, usage: { units: { audioSeconds: 30 } } });
    expect(events.some(({ type }) => type === 'transcript-finished')).toBe(false);
    expect(runner.inputs).toHaveLength(2);
  });

  it.each([
    ['long', 40, 'plays longer than its header says'],
    ['cut', 100, 'damaged'],
    ['empty', 100, 'contains no audio'],
  ])('refuses the recording "%s" as an error of the caller', async (name, maxSeconds, problem) => {
    const failure = await setUp(name, new WordPerBlock(), { maxSeconds })
      .run()
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ASR_UPSTREAM_VALIDATION_FAILED', param: 'file' });
    expect((failure as Error).message).toContain(problem);
  });

  it('refuses a recording without speech', async () => {
    const silent: TaskRunner = {
      runTask: async ({ input }) => ({
        cancelled: false,
        output: {
          consumedSamples: (input as RecognitionInput).samples.length,
          heardSpeech: false,
          segments: [],
          memory: { language: null, tail: [] },
        },
      }),
    };
    await expect(setUp('short', silent).run()).rejects.toMatchObject({
      code: 'ASR_UPSTREAM_VALIDATION_FAILED',
      message: 'Nobody speaks in the recording.',
    });
  });

  it('does not loop with a model that consumes nothing', async () => {
    await expect(setUp('short', new WordPerBlock(0)).run()).rejects.toMatchObject({
      code: 'ASR_UPSTREAM_FAILED',
    });
  });

  it.each([new PlatformError('INFERENCE_FAILED', 'no words'), new Error('a slip')])(
    'reports a recognizer failure as such: %s',
    async (failure) => {
      const failing: TaskRunner = { runTask: () => Promise.reject(failure) };
      await expect(setUp('short', failing).run()).rejects.toMatchObject({ code: 'ASR_UPSTREAM_FAILED', param: null });
    },
  );

  it('passes on the error of the model', async () => {
    const failing: TaskRunner = { runTask: () => Promise.reject(new PlatformError('DEVICE_LOST', 'gone')) };
    await expect(setUp('short', failing).run()).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });
});

describe('samples in transit', () => {
  it('come out in order, across the borders of parts', () => {
    const buffer = new SampleBuffer();
    for (const part of [[1, 2, 3], [], [4], [5, 6]]) buffer.push(Float32Array.from(part));
    expect([...buffer.peek(5)]).toEqual([1, 2, 3, 4, 5]);
    buffer.drop(3);
    expect([buffer.length, ...buffer.peek(99)]).toEqual([3, 4, 5, 6]);
    buffer.drop(2);
    buffer.push(Float32Array.of(7));
    expect([...buffer.peek(2)]).toEqual([6, 7]);
    buffer.drop(99);
    expect([buffer.length, buffer.peek(3).length]).toEqual([0, 0]);
  });
});
