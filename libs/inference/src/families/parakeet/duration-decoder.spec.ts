import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { openGraph } from '../../runtime/open-graph.js';
import { type DecodedReference, reference, referenceAudio } from './__fixtures__/reference.js';
import { DurationDecoder, type EmittedToken } from './duration-decoder.js';
import { NormalizedLogMel } from './log-mel.js';
import { TransducerGraphs } from './transducer-graphs.js';
import { TransducerVocabulary } from './transducer-vocabulary.js';

const fixtures = fileURLToPath(new URL('__fixtures__', import.meta.url));
const secondsPerFrame = 0.08;

const context = {
  yieldToEventLoop: async () => undefined,
  measure: (run: () => Promise<unknown>) => run(),
} as unknown as TaskContext;

async function openModel(files: {
  encoder: string;
  joint: string;
  predictor: string | null;
}): Promise<TransducerGraphs> {
  const open = (file: string) =>
    openGraph({ modelPath: join(fixtures, file), providers: ['cpu'], intraOpThreads: 1, spinning: false });
  const sessions = {
    encoder: await open(files.encoder),
    joint: await open(files.joint),
    predictor: files.predictor === null ? null : await open(files.predictor),
  };
  return new TransducerGraphs(sessions, { bands: 1 });
}

describe.each([
  ['in one graph', 'joined', 'encoder-model.onnx', 'decoder_joint-model.onnx', null],
  ['in two graphs', 'split', 'encoder.int8.onnx', 'joiner.int8.onnx', 'decoder.int8.onnx'],
] as const)('a transducer with prediction and joint network %s', (_name, folder, encoder, joint, predictor) => {
  let graphs: TransducerGraphs;
  let vocabulary: TransducerVocabulary;

  beforeAll(async () => {
    const files = { encoder: join(folder, encoder), joint: join(folder, joint) };
    graphs = await openModel({ ...files, predictor: predictor === null ? null : join(folder, predictor) });
    vocabulary = await TransducerVocabulary.load(join(fixtures, folder));
  });
  afterAll(() => graphs.release());

  async function decode(maxTokensPerFrame: number, temperature = 0): Promise<EmittedToken[]> {
    const speech = await graphs.encode(new NormalizedLogMel(graphs.bands).compute(referenceAudio(8)));
    const decoder = new DurationDecoder({ graphs, vocabulary, maxTokensPerFrame });
    return await decoder.decode(speech, { temperature }, context);
  }

  it.each<[number, DecodedReference]>([
    [3, reference.three],
    [10, reference.ten],
  ])('writes the tokens of the reference at its frames, at most %i per frame', async (max, expected) => {
    const emitted = await decode(max);
    expect(emitted.map(({ id }) => id)).toEqual(expected.tokens);
    expect(emitted.map(({ duration }) => duration)).toEqual(expected.durations);
    for (const [index, { frame, logprob }] of emitted.entries()) {
      expect(frame * secondsPerFrame).toBeCloseTo(expected.timestamps[index] ?? NaN, 6);
      expect(logprob).toBeLessThan(0);
    }
  });

  it('writes other tokens at a high temperature, and the same ones each time', async () => {
    const ids = async (temperature: number) => (await decode(3, temperature)).map(({ id }) => id);
    expect(await ids(1)).not.toEqual(reference.three.tokens);
    expect(await ids(1)).toEqual(await ids(1));
  });
});

describe('a transducer without durations', () => {
  it('is refused', async () => {
    const speech = { frames: 1, frame: () => new Float32Array(1) };
    const graphs = { begin: () => ({ logits: async () => new Float32Array(3), accept: () => undefined }) };
    const decoder = new DurationDecoder({
      graphs: graphs as unknown as TransducerGraphs,
      vocabulary: new TransducerVocabulary(['a', 'b', '<blk>']),
      maxTokensPerFrame: 10,
    });
    const decoding = decoder.decode(speech as never, { temperature: 0 }, context);
    await expect(decoding).rejects.toMatchObject({ code: 'INVALID_MODEL' });
  });
});
