import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { decodeNode, memoryAccess, readOnnxModel } from '../onnx/index.js';
import { graphForDevice } from './device-graph.js';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-device-graph-'));
});
afterAll(async () => {
  await rm(home, { recursive: true });
});

async function build(options: TinyModelOptions) {
  const folder = join(
    home,
    `${options.shape ?? 'llama'}-${options.dtype ?? 'float32'}-${options.externalData ?? false}`,
  );
  const { graphFile } = await buildTinyModel(folder, options);
  return { folder, graphFile };
}

async function describeGraph(bytes: Uint8Array) {
  const { nodes, inputs, outputs, initializers } = await readOnnxModel(memoryAccess(bytes), { allowsExternal: true });
  const decoded = await Promise.all(nodes.map(decodeNode));
  const float16 = 10;
  return {
    operators: new Set(decoded.map(({ operator }) => operator)),
    inputs: inputs.map(({ name }) => name),
    outputs: outputs.map(({ name }) => name),
    halves: initializers.filter(({ type }) => type === float16).map(({ name }) => name),
  };
}

const asItIs = { takesHalfFloats: true, cacheInPlaceOn: null };

describe('the graph for a device', () => {
  it('multiplies with keys as devices can, where their cache is not written in place', async () => {
    const file = await build({ shape: 'capped' });
    const onDevice = await graphForDevice(file, { takesHalfFloats: true, cacheInPlaceOn: 'webgpu' });
    expect(onDevice?.cacheInPlace).toBe(false);
    const { operators, inputs } = await describeGraph(onDevice?.model ?? new Uint8Array(0));
    expect(operators).not.toContain('FusedMatMul');
    expect(operators).not.toContain('LogSoftmax');
    expect(inputs).toEqual(expect.arrayContaining(['past_lens', 'last_index', 'past_key_values.0.key']));
    expect(await graphForDevice(file, asItIs)).toBeNull();
  });

  it('is null where nothing has to be changed', async () => {
    expect(await graphForDevice(await build({}), asItIs)).toBeNull();
    expect(await graphForDevice(await build({ dtype: 'int8' }), asItIs)).toBeNull();
  });

  it.each([false, true])(
    'has tables of floats where the device lacks half floats, external data: %s',
    async (external) => {
      const file = await build({ dtype: 'int8', externalData: external });
      expect((await describeGraph(await readFile(join(file.folder, file.graphFile)))).halves).toHaveLength(1);
      const changed = await graphForDevice(file, { ...asItIs, takesHalfFloats: false });
      expect((await describeGraph(changed?.model ?? new Uint8Array())).halves).toEqual([]);
    },
  );

  it('has blocks in place of integer products', async () => {
    const file = await build({ dtype: 'int8-channel' });
    const before = await describeGraph(await readFile(join(file.folder, file.graphFile)));
    expect([...before.operators]).toEqual(expect.arrayContaining(['MatMulIntegerToFloat', 'QuantizeLinear']));
    const after = await describeGraph((await graphForDevice(file, asItIs))?.model ?? new Uint8Array());
    expect(after.operators.has('MatMulNBits')).toBe(true);
    for (const operator of ['MatMulIntegerToFloat', 'QuantizeLinear'])
      expect(after.operators.has(operator)).toBe(false);
  });

  it.each(['llama', 'wide', 'qwen', 'phi', 'window', 'capped'] as const)(
    'writes its cache in place: %s',
    async (shape) => {
      const changed = await graphForDevice(await build({ shape }), { ...asItIs, cacheInPlaceOn: 'cpu' });
      expect(changed?.cacheInPlace).toBe(true);
      const { operators, inputs, outputs } = await describeGraph(changed?.model ?? new Uint8Array());
      expect([...operators]).toEqual(expect.arrayContaining(['GroupQueryAttention', 'TopK']));
      for (const operator of ['Softmax', 'LogSoftmax', 'Where']) expect(operators.has(operator)).toBe(false);
      expect(inputs).toEqual(expect.arrayContaining(['seqlens_k', 'total_length', 'past_key_values.1.value']));
      for (const name of ['past_lens', 'window_starts']) expect(inputs).not.toContain(name);
      // Its heads rotate 4 pairs, which the operator does not take.
      expect(inputs.includes('position_ids')).toBe(shape === 'phi');
      expect(operators.has('RotaryEmbedding')).toBe(shape === 'phi');
      expect(outputs).toEqual(expect.arrayContaining(['present.0.key', 'lse', 'logits']));
      expect(outputs).not.toContain('new_kv');
    },
  );

  it('leaves graphs of other exporters', async () => {
    const wanted = { ...asItIs, cacheInPlaceOn: 'webgpu' };
    const folder = join(home, 'concat');
    const { graphFile } = await buildTinyModel(folder, { layout: 'concat' });
    expect(await graphForDevice({ folder, graphFile }, wanted)).toBeNull();
  });
});
