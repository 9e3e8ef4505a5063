import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TaskEngineRun } from '#test/task-engine-run';
import type { ComposeInput, ComposeOutput } from '../../engines/music.js';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import { MergedDecoder } from '../../recognition/merged-decoder.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { SentenceTokenizer } from '../../text/index.js';
import fixture from './__fixtures__/tiny-musicgen.json' with { type: 'json' };
import { CodeWriter } from './code-writer.js';
import { MusicgenGenerator } from './musicgen.generator.js';
import { readMusicgenConfig } from './musicgen.config.js';
import { loadMusicgenFamily } from './musicgen.family.js';
import { PromptReader } from './prompt-states.js';

const directory = fileURLToPath(new URL('./__fixtures__/tiny', import.meta.url));

const options: HostLoadOptions = {
  modelId: 'tiny-musicgen',
  directory,
  graphFile: 'onnx/decoder_model_merged.onnx',
  family: 'musicgen',
  familyOptions: {},
  providers: ['cpu'],
  intraOpThreads: 1,
  slots: 1,
  contextLength: 1,
  cacheTokens: 1,
};

const context: TaskContext = {
  part: () => undefined,
  progress: () => undefined,
  yieldToEventLoop: () => Promise.resolve(),
  measure: (run) => run(),
};

describe('the T5 tokenizer', () => {
  it.each(fixture.encoded.map(({ text, ids }) => [JSON.stringify(text), text, ids] as const))(
    'returns the ids of the reference: %s',
    async (_, text, ids) => {
      const tokenizer = await SentenceTokenizer.load(directory);
      expect(tokenizer.encode(text, 512)).toEqual({ ids: Int32Array.from(ids) });
    },
  );
});

describe('a tiny MusicGen that always takes the likeliest code', () => {
  const sessions: GraphSession[] = [];

  async function open(name: string): Promise<GraphSession> {
    const modelPath = `${directory}/onnx/${name}.onnx`;
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1, spinning: false });
    sessions.push(session);
    return session;
  }

  async function parts(guidance: number) {
    const config = await readMusicgenConfig(directory, { temperature: 0, guidance });
    const tokenizer = await SentenceTokenizer.load(directory);
    const session = await open('decoder_model_merged');
    const decoder = new MergedDecoder(session, { vocabularySize: config.vocabularySize });
    const reader = new PromptReader({ tokenizer, encoder: await open('text_encoder'), decoder: session });
    const writer = new CodeWriter({ config, reader, decoder });
    return { writer, generator: new MusicgenGenerator({ config, writer, codec: await open('encodec_decode') }) };
  }

  afterAll(async () => {
    for (const session of sessions) await session.release();
  });

  it.each(fixture.cases.map((wanted) => [`${wanted.frames} frames, guidance ${wanted.guidance}`, wanted] as const))(
    'generates the codes and samples of the reference: %s',
    async (_, { prompt, frames, guidance, codes, samples }) => {
      const { writer, generator } = await parts(guidance);
      const steps: number[] = [];
      const onStep = (done: number): void => void steps.push(done);
      const written = await writer.write({ prompt, frames, seed: 1 }, { context, onStep });
      expect([...written]).toEqual(codes);
      expect(steps).toHaveLength(frames + 3);
      if (samples === null) return;
      const wanted = new Float32Array(Uint8Array.from(Buffer.from(samples, 'base64')).buffer);
      const made = await generator.decode(written, frames);
      expect(made).toHaveLength(wanted.length);
      const differences = wanted.map((sample, index) => Math.abs(clamped(sample) - (made[index] ?? NaN)));
      expect(differences.reduce((max, difference) => Math.max(max, difference))).toBeLessThan(1e-3);
    },
  );

  it('generates other codes for another prompt, and without guidance', async () => {
    const write = async (guidance: number, prompt: string): Promise<Int32Array> => {
      const { writer } = await parts(guidance);
      return await writer.write({ prompt, frames: 8, seed: 1 }, { context, onStep: () => undefined });
    };
    const base = await write(3, 'slow jazz');
    expect(await write(3, 'slow jazz')).toEqual(base);
    expect(await write(3, 'rain and wind')).not.toEqual(base);
    expect(await write(1, 'slow jazz')).not.toEqual(base);
  });
});

function clamped(sample: number): number {
  return Math.max(-1, Math.min(1, sample));
}

describe('the musicgen family', () => {
  const run = new TaskEngineRun();
  beforeAll(() => run.load(loadMusicgenFamily, options));
  afterAll(() => run.engine.close());

  const compose = async (id: string, input: ComposeInput) =>
    (await run.run({ id, task: 'compose', input })) as ComposeOutput;

  const input: ComposeInput = { prompt: 'a happy pop song', seconds: 1.01, seed: 4 };

  it('generates audio of the requested duration, and the same audio for the same seed', async () => {
    const piece = await compose('base', input);
    expect(piece.sampleRate).toBe(32_000);
    expect(piece.samples).toHaveLength(32_320);
    expect(await compose('again', input)).toEqual(piece);
    expect(await compose('other', { ...input, seed: 5 })).not.toEqual(piece);
  });

  it('reports progress every half second, and stops between two steps', async () => {
    const fractions = run.fractions('base');
    expect(fractions).toHaveLength(3);
    expect(fractions.at(-1)).toBeCloseTo(0.95);
    const before = run.engine.stats().stepsTotal;
    run.engine.submit({ id: 'long', task: 'compose', input: { ...input, seconds: 4 } });
    while (run.told('long').length === 0) await run.heard();
    run.engine.cancel('long');
    expect(await run.ended('long')).toMatchObject({ type: 'task-finished', cancelled: true });
    expect(run.engine.stats().stepsTotal - before).toBeLessThan(40);
  });

  it('rejects a clip longer than the model supports', async () => {
    run.engine.submit({ id: 'endless', task: 'compose', input: { ...input, seconds: 31 } });
    expect(await run.ended('endless')).toMatchObject({
      type: 'failed',
      error: { code: 'INVALID_REQUEST', param: 'duration_seconds' },
    });
  });

  it('rejects the folder of another model', async () => {
    const elsewhere = fileURLToPath(new URL('../stable-diffusion/__fixtures__/tiny', import.meta.url));
    await expect(loadMusicgenFamily({ ...options, directory: elsewhere }, () => undefined)).rejects.toMatchObject({
      code: 'INVALID_MODEL',
    });
  });
});
