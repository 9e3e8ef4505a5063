import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { productOf } from '#common/values';
import { type GraphTensor, openGraph } from '#inference';
import fixture from './tfjs/__fixtures__/tiny-layers.json' with { type: 'json' };
import { convertTfjs } from './tfjs.converter.js';

const modelJson = {
  modelTopology: { model_config: fixture.topology },
  weightsManifest: [{ paths: ['shard.bin'], weights: fixture.specifications }],
};
const weights = Buffer.from(fixture.weights, 'base64');

/** Transposes height, width, channels to channels, height, width. */
function channelsFirst(values: number[], [height, width, channels]: [number, number, number]): Float32Array {
  const planes = new Float32Array(values.length);
  values.forEach((value, index) => {
    const position = Math.floor(index / channels);
    planes[(index % channels) * height * width + position] = value;
  });
  return planes;
}

describe('layers models', () => {
  let folder = '';
  let request = { options: {}, inputFolder: '', outputFolder: '' };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tfjs-'));
    request = { options: {}, inputFolder: join(folder, 'in'), outputFolder: join(folder, 'out') };
    await mkdir(request.inputFolder);
    await mkdir(request.outputFolder);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function answer(graphFile: string): Promise<number[]> {
    const modelPath = join(request.outputFolder, graphFile);
    const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
    const input = session.tensor('float32', channelsFirst(fixture.image, [8, 6, 3]), [1, 3, 8, 6]);
    const { output } = await session.run({ input }, ['output']);
    await session.release();
    return Array.from((output as GraphTensor).data as Float32Array);
  }

  function expectReference(values: number[]): void {
    expect(values).toHaveLength(fixture.answer.length);
    values.forEach((value, index) => expect(value).toBeCloseTo(fixture.answer[index] ?? NaN, 5));
  }

  it('become graphs with the results of the reference, for each layer type', async () => {
    await writeFile(join(request.inputFolder, 'model.json'), JSON.stringify(modelJson));
    await writeFile(join(request.inputFolder, 'shard.bin'), weights);
    const { converter, files } = await convertTfjs(request);
    expect({ converter, files }).toEqual({ converter: 'tfjs/1', files: ['model.onnx'] });
    expectReference(await answer('model.onnx'));
  });

  it('are read from scripts that export them as literals, without running them', async () => {
    const literal = JSON.stringify(modelJson)
      .replaceAll(/"(\w+)":/g, '$1:')
      .replaceAll('true', '!0')
      .replaceAll('false', '!1')
      .replaceAll(/([[:,])0\./g, '$1.');
    const wrap = (value: string) => `!function(e){throw e}({1:[function(e,a,n){a.exports=${value}},{}]},{},[1])`;
    await mkdir(join(request.inputFolder, 'net'));
    await writeFile(join(request.inputFolder, 'net', 'model.min.js'), wrap(literal));
    await writeFile(join(request.inputFolder, 'net', 'shard.min.js'), wrap(`"${fixture.weights}"`));
    expect((await convertTfjs(request)).files).toEqual(['net.onnx']);
    expectReference(await answer('net.onnx'));
  });

  it('support weights of 8 and 16 bits', async () => {
    let offset = 0;
    const quantized = fixture.specifications.map((specification, index) => {
      const count = productOf(specification.shape);
      const values = new Float32Array(Uint8Array.from(weights.subarray(offset, (offset += count * 4))).buffer);
      const [min, steps] = [Math.min(...values), index % 2 === 0 ? 255 : 65_535];
      const scale = (Math.max(...values) - min) / steps || 1;
      const codes = values.map((value) => Math.round((value - min) / scale));
      const bytes = steps === 255 ? Buffer.from(codes) : Buffer.from(Uint16Array.from(codes).buffer);
      const quantization = { dtype: steps === 255 ? 'uint8' : 'uint16', min, scale };
      return { bytes, specification: { ...specification, quantization } };
    });
    const manifest = [{ paths: ['shard.bin'], weights: quantized.map(({ specification }) => specification) }];
    await writeFile(
      join(request.inputFolder, 'model.json'),
      JSON.stringify({ ...modelJson, weightsManifest: manifest }),
    );
    await writeFile(join(request.inputFolder, 'shard.bin'), Buffer.concat(quantized.map(({ bytes }) => bytes)));
    await convertTfjs(request);
    (await answer('model.onnx')).forEach((value, index) => expect(value).toBeCloseTo(fixture.answer[index] ?? NaN, 2));
  });

  it.each([
    ['no model', {}, 'model.json'],
    ['what is not JSON', { 'model.json': '{' }, 'model.json'],
    ['a graph model', { 'model.json': '{"modelTopology":{"node":[]},"weightsManifest":[]}' }, 'layers model'],
    ['a missing shard', { 'model.json': JSON.stringify(modelJson) }, 'shard.bin'],
    ['a shard cut short', { 'model.json': JSON.stringify(modelJson), 'shard.bin': 'abcd' }, 'end before the weight'],
    [
      'a layer nobody knows',
      { 'model.json': JSON.stringify(modelJson).replaceAll('"Dense"', '"Lambda"'), 'shard.bin': weights },
      'Lambda',
    ],
    ['a script that computes', { 'model.min.js': 'a.exports={a:process.exit()}' }, 'more than a literal'],
  ])('rejects %s and leaves nothing behind', async (_, files, problem) => {
    for (const [name, content] of Object.entries(files)) await writeFile(join(request.inputFolder, name), content);
    await expect(convertTfjs(request)).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining(problem) as string,
    });
    expect(await readdir(request.outputFolder)).toEqual([]);
  });
});
