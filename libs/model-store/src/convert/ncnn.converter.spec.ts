import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GraphTensor, openGraph } from '#inference';
import fixture from './ncnn/__fixtures__/tiny-flow.json' with { type: 'json' };
import upscalers from './ncnn/__fixtures__/tiny-upscalers.json' with { type: 'json' };
import { convertNcnn } from './ncnn.converter.js';

const floats = (base64: string) => new Float32Array(Uint8Array.from(Buffer.from(base64, 'base64')).buffer);
const [height, width] = [16, 32];

/** Network with only a warp layer: the flow is two channels of `in1`. */
const warpOnly = [
  '7767517',
  '5 5',
  'Input in0 0 1 in0',
  'Input in1 0 1 in1',
  'Input in2 0 1 in2',
  'Crop flow 1 1 in1 flow -23309=1,0 -23310=1,2 -23311=1,0',
  'rife.Warp warp 2 1 in0 flow out',
].join('\n');

describe('flow networks of ncnn', () => {
  let folder = '';
  let request = { options: {}, inputFolder: '', outputFolder: '' };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ncnn-'));
    request = { options: {}, inputFolder: join(folder, 'in'), outputFolder: join(folder, 'out') };
    await mkdir(request.inputFolder);
    await mkdir(request.outputFolder);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function install(param: string, weights: Uint8Array): Promise<void> {
    await writeFile(join(request.inputFolder, 'flow.param'), param);
    await writeFile(join(request.inputFolder, 'flow.bin'), weights);
  }

  async function answer(frames: Record<'in0' | 'in1' | 'in2', Float32Array>): Promise<Float32Array> {
    const modelPath = join(request.outputFolder, 'model.onnx');
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    const known = session.inputs.map(({ name }) => name as keyof typeof frames);
    const feeds: Record<string, GraphTensor> = {};
    for (const name of known) {
      const data = frames[name];
      feeds[name] = session.tensor('float32', data, [1, data.length / (height * width), height, width]);
    }
    const { out } = await session.run(feeds, ['out']);
    await session.release();
    return Float32Array.from(out?.data as Float32Array);
  }

  it('become graphs with the results of the reference', async () => {
    await install(fixture.param, Buffer.from(fixture.weights, 'base64'));
    expect(await convertNcnn(request)).toEqual({ converter: 'ncnn/1', files: ['model.onnx'] });
    const { in0, in1, in2 } = fixture.frames;
    const values = await answer({ in0: floats(in0), in1: floats(in1), in2: floats(in2) });
    const expected = floats(fixture.answer);
    expect(values).toHaveLength(expected.length);
    values.forEach((value, index) => expect(value).toBeCloseTo(expected[index] ?? NaN, 4));
  });

  it('warp an image by whole pixels, with its border beyond the edge', async () => {
    await install(warpOnly, new Uint8Array());
    await convertNcnn(request);
    const plane = height * width;
    const in0 = Float32Array.from({ length: 3 * plane }, (_, index) => ((index * 7919) % 1000) / 1000);
    // Two to the right, one down.
    const in1 = new Float32Array(3 * plane).fill(2, 0, plane).fill(1, plane, 2 * plane);
    const values = await answer({ in0, in1, in2: new Float32Array(plane) });
    for (const [row, column] of [
      [0, 0],
      [7, 11],
      [15, 31],
      [14, 30],
    ] as const) {
      const from = Math.min(row + 1, height - 1) * width + Math.min(column + 2, width - 1);
      expect(values[row * width + column]).toBeCloseTo(in0[from] ?? NaN, 4);
    }
  });

  const weights = Buffer.from(fixture.weights, 'base64');
  it.each([
    ['a file of another format', '123\n1 1\nInput in0 0 1 in0', weights, 'number of the format'],
    ['a network cut short', fixture.param.split('\n').slice(0, 6).join('\n'), weights, 'layers and has'],
    ['weights cut short', fixture.param, weights.subarray(0, 500), 'cut short'],
    ['weights that belong to nothing', fixture.param, Buffer.concat([weights, weights]), 'belong to no layer'],
    ['a layer nobody knows', fixture.param.replace('Sigmoid', 'Softplus'), weights, 'Softplus'],
  ])('rejects %s and leaves nothing behind', async (_, param, bytes, problem) => {
    await install(param, bytes);
    await expect(convertNcnn(request)).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining(problem) as string,
    });
    expect(await readdir(request.outputFolder)).toEqual([]);
  });
});

describe('upscalers of ncnn', () => {
  const { image, networks } = upscalers;
  const known = Object.entries(networks);
  let folder = '';
  let request = { options: {}, inputFolder: '', outputFolder: '' };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ncnn-'));
    request = { options: {}, inputFolder: join(folder, 'in'), outputFolder: join(folder, 'out') };
    await mkdir(request.inputFolder);
    await mkdir(request.outputFolder);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function install(name: string, { param, weights }: { param: string; weights: string }): Promise<void> {
    await writeFile(join(request.inputFolder, `${name}.param`), param);
    await writeFile(join(request.inputFolder, `${name}.bin`), Buffer.from(weights, 'base64'));
  }

  async function upscale(file: string): Promise<GraphTensor> {
    const modelPath = join(request.outputFolder, file);
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    const { out } = await session.run({ data: session.tensor('float32', floats(image), [1, 3, 10, 14]) }, ['out']);
    const { data, dims } = out as GraphTensor;
    const copied = { type: 'float32', data: Float32Array.from(data as Float32Array), dims: [...dims] };
    await session.release();
    return copied;
  }

  it('become one graph each, with the results of the reference', async () => {
    for (const [name, network] of known) await install(name, network);
    expect(await convertNcnn(request)).toEqual({ converter: 'ncnn/1', files: ['compact.onnx', 'dense.onnx'] });
    for (const [name, { shape, answer }] of known) {
      const { data, dims } = await upscale(`${name}.onnx`);
      expect(dims).toEqual([1, ...shape]);
      const expected = floats(answer);
      (data as Float32Array).forEach((value, index) => expect(value).toBeCloseTo(expected[index] ?? NaN, 4));
    }
  });

  it('are refused with a way to resize that nobody knows', async () => {
    await install('dense', { ...networks.dense, param: networks.dense.param.replace('twice 0=1', 'twice 0=9') });
    await expect(convertNcnn(request)).rejects.toThrow('its layer twice resizes in the unknown way 9');
  });

  it('are refused where there is none', async () => {
    await expect(convertNcnn(request)).rejects.toThrow('*.param');
  });
});
