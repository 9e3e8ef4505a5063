import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadFamilyEngine, type TaskEngine } from '#inference';
import { EmbeddingRun } from '#test/embedding-run';
import { installedWeights } from './starter-weights.js';

/* The starter embedding model compared with the reference implementation and with human judgement. */

interface Reference {
  texts: string[];
  ids: number[][];
  /** Base64 of little-endian half floats, normalized. */
  vectors: string[];
}

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url), 'utf8'));
}

const reference = fixture('minilm-reference.json') as Reference;
const { pairs } = fixture('sts-2017-en.json') as { pairs: [score: number, left: string, right: string][] };

function halfFloat(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15, (bits >> 10) & 31, bits & 1023];
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return sign === 1 ? -magnitude : magnitude;
}

function referenceVector(index: number): Float32Array {
  const bytes = Buffer.from(reference.vectors[index] ?? '', 'base64');
  return Float32Array.from({ length: bytes.length / 2 }, (_value, at) => halfFloat(bytes.readUInt16LE(at * 2)));
}

function cosine(left: Float32Array | undefined, right: Float32Array | undefined): number {
  if (left === undefined || right === undefined) return Number.NaN;
  const product = left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  return product / (Math.hypot(...left) * Math.hypot(...right));
}

/** Rank correlation of two orders; 1 means equal. */
function spearman(left: number[], right: number[]): number {
  const ranks = (values: number[]) =>
    values.map((value) => {
      const smaller = values.filter((other) => other < value).length;
      return smaller + (values.filter((other) => other === value).length - 1) / 2;
    });
  const [a, b] = [ranks(left), ranks(right)];
  const mean = (left.length - 1) / 2;
  const product = (x: number[], y: number[]) =>
    x.reduce((sum, value, at) => sum + (value - mean) * ((y[at] ?? 0) - mean), 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}

describe('all-MiniLM-L6-v2', () => {
  const run = new EmbeddingRun();

  beforeAll(async () => {
    const { folder, manifest } = await installedWeights('all-minilm-l6-v2');
    const { engine } = await loadFamilyEngine(
      {
        modelId: manifest.id,
        directory: folder,
        graphFile: manifest.graphFile,
        family: manifest.family,
        familyOptions: manifest.familyOptions ?? {},
        providers: ['cpu'],
        intraOpThreads: 2,
        slots: 32,
        contextLength: 512,
        cacheTokens: 0,
      },
      run.sink,
    );
    run.engine = engine as TaskEngine;
  });
  afterAll(() => run.engine.close());

  it('gives the vectors of the reference implementation and the same token counts', async () => {
    const { vectors, tokens } = await run.embed(reference.texts);
    const cosines = vectors.map((vector, index) => cosine(vector, referenceVector(index)));
    expect(Math.min(...cosines)).toBeGreaterThan(0.99999);
    expect(tokens).toBe(reference.ids.flat().length);
  });

  it('gives a text the same vector alone and in batches of equal or different texts', async () => {
    const [text = '', ...others] = reference.texts;
    const [alone] = (await run.embed([text])).vectors;
    const settings = [
      others,
      [...others].reverse().concat('ferry '.repeat(300)),
      Array.from({ length: 40 }, () => text),
    ];
    for (const neighbours of settings) {
      const answers = await Promise.all([run.embed(neighbours), run.embed([text]), run.embed(neighbours)]);
      expect(cosine(alone, answers[1].vectors[0])).toBeGreaterThan(0.99999);
    }
  });

  it.each([
    ['whole', null, 0.85],
    ['truncated to 128 dimensions', 128, 0.8],
  ])('ranks sentence pairs like people, with vectors that are %s', async (_name, dimensions, min) => {
    const { vectors } = await run.embed(
      pairs.flatMap(([, left, right]) => [left, right]),
      dimensions,
    );
    const cosines = pairs.map((_pair, index) => cosine(vectors[index * 2], vectors[index * 2 + 1]));
    const scores = pairs.map(([score]) => score);
    expect(spearman(cosines, scores)).toBeGreaterThan(min);
    const of = (wanted: (score: number) => boolean) => cosines.filter((_cosine, index) => wanted(scores[index] ?? 0));
    expect(Math.min(...of((score) => score >= 4.4))).toBeGreaterThan(Math.max(...of((score) => score <= 0.5)));
  });
});
