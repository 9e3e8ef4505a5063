import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openGraph } from '#inference';
import { convertTfjsGraph } from './tfjs-graph.converter.js';

/* A graph of every known operator on an image of 4 by 4, with results computed by hand. */

const weights: [name: string, shape: number[], values: number[], dtype?: string][] = [
  // The sum of a pixel's channels.
  ['kernel', [1, 1, 3, 1], [1, 1, 1]],
  // The sum of each square of two by two pixels.
  ['square', [2, 2, 1, 1], [1, 1, 1, 1]],
  ['bias', [1], [-10]],
  ['two', [], [2]],
  ['gamma', [1], [3]],
  ['beta', [1], [1]],
  ['mean', [1], [4]],
  ['variance', [1], [0.75]],
  ['one dimension', [], [1], 'int32'],
  ['four', [], [4], 'int32'],
  ['axis', [], [1], 'int32'],
];

const codes = (text: string): { s: number[] } => ({ s: [...Buffer.from(text)] });
const list = (...values: number[]) => ({ list: { i: values.map(String) } });
const same = { padding: codes('SAME'), dilations: list(1, 1, 1, 1) };

const nodes = [
  ...weights.map(([name]) => ({ name, op: 'Const' })),
  { name: 'image', op: 'Placeholder' },
  { name: 'scaled', op: 'Mul', input: ['image', 'two'] },
  { name: 'sum', op: 'Conv2D', input: ['scaled', 'kernel'], attr: { ...same, strides: list(1, 1, 1, 1) } },
  {
    name: 'squares',
    op: 'DepthwiseConv2dNative',
    input: ['sum', 'square'],
    attr: { ...same, strides: list(1, 2, 2, 1) },
  },
  { name: 'biased', op: 'BiasAdd', input: ['squares', 'bias'] },
  { name: 'clipped', op: 'Relu6', input: ['biased'] },
  {
    name: 'normal',
    op: 'FusedBatchNorm',
    input: ['clipped', 'gamma', 'beta', 'mean', 'variance'],
    attr: { epsilon: { f: 0.25 } },
  },
  { name: 'batch', op: 'StridedSlice', input: ['image'] },
  { name: 'shape', op: 'Pack', input: ['batch', 'four', 'one dimension', 'one dimension'] },
  { name: 'row', op: 'Reshape', input: ['normal', 'shape'] },
  { name: 'less', op: 'Sub', input: ['row', 'two'] },
  { name: 'more', op: 'AddN', input: ['row', 'row', 'less'] },
  { name: 'total', op: 'Add', input: ['more', 'two'] },
  { name: 'all', op: 'ConcatV2', input: ['row', 'total', 'axis'] },
  { name: 'flat', op: 'Squeeze', input: ['all'], attr: { squeeze_dims: list(2) } },
  { name: 'chance', op: 'Sigmoid', input: ['flat'] },
];

const specifications = weights.map(([name, shape, , dtype = 'float32']) => ({ name, shape, dtype }));
const modelJson = {
  modelTopology: { node: nodes },
  weightsManifest: [{ paths: ['shard'], weights: specifications }],
};
const shard = Buffer.concat(
  weights.map(([, , values, dtype]) =>
    Buffer.from((dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values)).buffer),
  ),
);

describe('graph models', () => {
  let folder = '';
  const options = { input: 'image', outputs: 'rows=flat, chances=chance' };
  const request = () => ({ options, inputFolder: join(folder, 'in'), outputFolder: join(folder, 'out') });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tfjs-graph-'));
    await mkdir(join(folder, 'in'));
    await mkdir(join(folder, 'out'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function store(files: Record<string, string | Buffer>): Promise<void> {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, 'in', name), content);
  }

  it('become graphs with the same results, from one node to others', async () => {
    await store({ 'model.json': JSON.stringify(modelJson), shard });
    expect(await convertTfjsGraph(request())).toEqual({ converter: 'tfjs-graph/1', files: ['model.onnx'] });
    const modelPath = join(folder, 'out', 'model.onnx');
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    // Each channel of a pixel is a sixth of the pixel's number, so that a doubled sum is the number itself.
    const numbers = [0, 1, 2, 1, 1, 1, 1, 1, 4, 4, 5, 5, 4, 4, 5, 5];
    const pixels = Float32Array.from([...numbers, ...numbers, ...numbers], (number) => number / 6);
    const feeds = { input: session.tensor('float32', pixels, [1, 3, 4, 4]) };
    const { rows, chances } = await session.run(feeds, ['rows', 'chances']);
    await session.release();
    // Squares have 3, 5, 16, 20; less ten and clipped 0, 0, 6, 6; normal is three times the distance from 4, plus 1.
    const normal = [-11, -11, 7, 7];
    const total = normal.map((value) => 3 * value);
    expect(rows?.dims).toEqual([1, 8, 1]);
    const valuesOf = (tensor: typeof rows): Float32Array => (tensor?.data ?? expect.fail('no output')) as Float32Array;
    [...normal, ...total].forEach((value, index) => {
      expect(valuesOf(rows)[index]).toBeCloseTo(value, 4);
      expect(valuesOf(chances)[index]).toBeCloseTo(1 / (1 + Math.exp(-value)), 5);
    });
  });

  const changed = (from: string, to: string) => ({ 'model.json': JSON.stringify(modelJson).replace(from, to), shard });
  it.each([
    ['no model', {}, options, 'model.json'],
    ['a layers model', { 'model.json': '{"modelTopology":{},"weightsManifest":[]}' }, options, 'not a graph model'],
    ['an unknown operator', changed('"Relu6"', '"Erf"'), options, 'unknown type Erf'],
    ['an unknown padding', changed('[83,65,77,69]', '[83]'), options, 'unknown padding'],
    ['a node that is missing', changed('"name":"biased"', '"name":"other"'), options, 'no node biased'],
    ['a weight that is missing', changed('"Placeholder"', '"Const"'), { ...options, input: 'two' }, 'weight image'],
    ['a cycle', changed('["squares","bias"]', '["clipped","bias"]'), options, 'cycle'],
    ['no option', changed('', ''), { input: 'image' }, 'outputs'],
    ['an option that is no pair', changed('', ''), { ...options, outputs: 'flat' }, 'pairs'],
  ])('are refused for %s, and nothing is left behind', async (_, files, given, problem) => {
    await store(files);
    await expect(convertTfjsGraph({ ...request(), options: given as typeof options })).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining(problem) as string,
    });
    expect(await readdir(join(folder, 'out'))).toEqual([]);
  });
});
