import { mkdtemp, readFile, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import onnxProto from 'onnx-proto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bytesOf, GraphBuilder } from './graph-builder.js';
import { writeOnnxModel, type WriteModelOptions } from './onnx-model.writer.js';
import type { OnnxGraph } from './onnx-types.js';

const { onnx } = onnxProto;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'onnx-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** `sum = x + weight`, scaled by a constant, with an operator of every attribute kind. */
function sample(values: Float32Array): OnnxGraph {
  const builder = new GraphBuilder('sample');
  builder.input('x', 'float32', ['batch', values.length]);
  const weight = builder.weight('weight', 'float32', [values.length], () => bytesOf(values));
  const sum = builder.node('Add', ['x', weight]);
  const scaled = builder.node('Mul', [sum, builder.float(-0.25)]);
  const shaped = builder.node('Reshape', [scaled, builder.integers([-1, values.length])], { allowzero: 1 });
  builder.contribNode('FusedMatMul', [shaped, shaped], { alpha: { float: 0.5 }, transB: 1 });
  builder.node('Transpose', [shaped], { perm: [1, 0], note: 'text' }, 'y');
  builder.output('y', 'float32', [values.length, 'batch']);
  return builder.build();
}

async function decode(fileName: string) {
  return onnx.ModelProto.decode(await readFile(join(folder, fileName)));
}

describe('writeOnnxModel', () => {
  it('writes a file that an independent reader understands', async () => {
    await writeOnnxModel(sample(Float32Array.of(1, 2, 3)), { folder, fileName: 'small.onnx' });
    const model = await decode('small.onnx');
    expect(Number(model.irVersion)).toBe(8);
    expect(model.opsetImport.map((opset) => [opset.domain, Number(opset.version)])).toEqual([
      ['', 17],
      ['com.microsoft', 1],
    ]);
    const graph = model.graph;
    expect(graph?.node?.map((node) => [node.opType, node.domain, node.output?.length])).toEqual([
      ['Add', '', 1],
      ['Mul', '', 1],
      ['Reshape', '', 1],
      ['FusedMatMul', 'com.microsoft', 1],
      ['Transpose', '', 1],
    ]);
    const attributes = (index: number) =>
      Object.fromEntries(
        (graph?.node?.[index]?.attribute ?? []).map((attribute) => [
          attribute.name,
          [attribute.type, attribute.f, Number(attribute.i), attribute.ints?.map(Number)],
        ]),
      );
    expect(attributes(2)).toEqual({ allowzero: [2, 0, 1, []] });
    expect(attributes(3)).toMatchObject({ alpha: [1, 0.5, 0, []], transB: [2, 0, 1, []] });
    expect(attributes(4)).toMatchObject({ perm: [7, 0, 0, [1, 0]], note: [3, 0, 0, []] });
    expect(
      graph?.output?.[0]?.type?.tensorType?.shape?.dim?.map((dim) => dim.dimParam || Number(dim.dimValue)),
    ).toEqual([3, 'batch']);
  });

  it('embeds small weights and puts large ones into a data file', async () => {
    const values = fc.array(fc.float({ noNaN: true }), { minLength: 300, maxLength: 900 });
    await fc.assert(
      fc.asyncProperty(values, async (list) => {
        const floats = Float32Array.from(list);
        const inside = await writeOnnxModel(sample(floats), { folder, fileName: 'inside.onnx' });
        const outside = await writeOnnxModel(sample(floats), { folder, fileName: 'outside.onnx', embedLimitBytes: 0 });
        expect(inside).toEqual(['inside.onnx']);
        expect(outside).toEqual(['outside.onnx', 'outside.onnx_data']);

        const embedded = (await decode('inside.onnx')).graph?.initializer?.find((tensor) => tensor.name === 'weight');
        expect(Buffer.from(embedded?.rawData ?? []).equals(Buffer.from(floats.buffer))).toBe(true);
        const external = (await decode('outside.onnx')).graph?.initializer?.find((tensor) => tensor.name === 'weight');
        const location = Object.fromEntries((external?.externalData ?? []).map((entry) => [entry.key, entry.value]));
        expect(location).toMatchObject({ location: 'outside.onnx_data', length: String(floats.byteLength) });
        const data = await readFile(join(folder, 'outside.onnx_data'));
        const start = Number(location.offset);
        expect(start % 4096).toBe(0);
        expect(data.subarray(start, start + floats.byteLength).equals(Buffer.from(floats.buffer))).toBe(true);
      }),
      { numRuns: 10 },
    );
  });

  it('requests large tensors piece by piece, in order, and reports every piece', async () => {
    const builder = new GraphBuilder('pieces');
    const asked: string[] = [];
    const pieces = (name: string) =>
      async function* () {
        for (let piece = 0; piece < 4; piece++) {
          asked.push(`${name}${piece}`);
          yield new Uint8Array(1024).fill(piece);
        }
      };
    builder.weight('a', 'uint8', [4096], pieces('a'));
    builder.weight('b', 'uint8', [4096], pieces('b'));
    const seen: number[] = [];
    const onProgress = ({ done, total }: { done: number; total: number }) => seen.push(done / total);
    await writeOnnxModel(builder.build(), { folder, fileName: 'pieces.onnx', embedLimitBytes: 0, onProgress });
    expect(asked).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'b1', 'b2', 'b3']);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 8].map((count) => count / 8));
  });

  it('leaves nothing behind if a tensor is short or fails, or the signal aborts', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'));
    const write = async (content: () => AsyncIterable<Uint8Array>, signal?: AbortSignal) => {
      const builder = new GraphBuilder('broken');
      builder.weight('w', 'uint8', [4096], content);
      return writeOnnxModel(builder.build(), { folder: empty, embedLimitBytes: 0, signal });
    };
    const controller = new AbortController();
    async function* short() {
      yield new Uint8Array(10);
    }
    async function* failing() {
      yield new Uint8Array(2048);
      throw new Error('the disk is on fire');
    }
    async function* aborting() {
      yield new Uint8Array(2048);
      controller.abort(new Error('enough'));
      yield new Uint8Array(2048);
    }
    await expect(write(short)).rejects.toThrow('The tensor w should have 4096 bytes but its content has 10.');
    await expect(write(failing)).rejects.toThrow('the disk is on fire');
    await expect(write(aborting, controller.signal)).rejects.toThrow('enough');
    expect(await readdir(empty)).toEqual([]);
  });

  describe('with a key', () => {
    const resumeKey = 'gguf of one file';
    /** Names of tensors in the order in which their contents were requested. */
    let asked: string[];
    beforeEach(() => void (asked = []));

    /** Four tensors of a page each, the second and the last with scales that result from its codes. */
    function pages(fill = 1): OnnxGraph {
      const builder = new GraphBuilder('pages');
      let codes: string | null = null;
      for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
        builder.weight(name, 'uint8', [4096], () => {
          asked.push((codes = name));
          return new Uint8Array(4096).fill(fill + index);
        });
        if (index % 2 === 0) continue;
        // The first scales are in the graph, the last in the data file.
        builder.continuedWeight(`${name}.scales`, 'uint8', [index === 1 ? 8 : 2048], () => {
          if (codes !== name) throw new Error(`the scales of ${name} were asked for before its codes`);
          return new Uint8Array(index === 1 ? 8 : 2048).fill(fill + 10 * index);
        });
      }
      return builder.build();
    }

    async function write(into: string, abortAt = Infinity, changes: Partial<WriteModelOptions> = {}, fill = 1) {
      const stop = new AbortController();
      const options = { folder: into, embedLimitBytes: 0, checkpointBytes: 4096, resumeKey, ...changes };
      const onProgress = ({ done }: { done: number }) => {
        if (done >= abortAt) stop.abort(new Error('enough'));
      };
      return writeOnnxModel(pages(fill), { ...options, onProgress, signal: stop.signal });
    }

    async function interrupted(): Promise<string> {
      const into = await mkdtemp(join(folder, 'resumed-'));
      await expect(write(into, 4 * 4096)).rejects.toThrow('enough');
      expect((await readdir(into)).toSorted()).toEqual(['model.onnx_data', 'model.onnx_data.resume']);
      asked = [];
      return into;
    }

    it('continues a data file behind its last whole tensor, with the same result', async () => {
      const [into, fresh] = [await interrupted(), await mkdtemp(join(folder, 'fresh-'))];
      expect(await write(into)).toEqual(['model.onnx', 'model.onnx_data']);
      // Written tensors are left alone, but the scales in the graph need their codes once more.
      expect(asked).toEqual(['b', 'd']);
      await write(fresh, Infinity, { resumeKey: undefined });
      for (const name of ['model.onnx', 'model.onnx_data']) {
        expect((await readFile(join(into, name))).equals(await readFile(join(fresh, name)))).toBe(true);
      }
      expect((await readdir(into)).toSorted()).toEqual(['model.onnx', 'model.onnx_data']);
    });

    it.each([
      ['the key is another', (into: string) => write(into, Infinity, { resumeKey: 'gguf of another file' }, 5)],
      [
        'the data file is shorter',
        async (into: string) => {
          await truncate(join(into, 'model.onnx_data'), 100);
          return write(into, Infinity, {}, 5);
        },
      ],
    ])('begins again if %s', async (_, again) => {
      const into = await interrupted();
      await again(into);
      expect(asked).toEqual(['a', 'b', 'c', 'd']);
      expect((await readFile(join(into, 'model.onnx_data')))[0]).toBe(5);
      expect((await readdir(into)).toSorted()).toEqual(['model.onnx', 'model.onnx_data']);
    });

    it('leaves nothing of a run that fails', async () => {
      const into = await mkdtemp(join(folder, 'failing-'));
      const builder = new GraphBuilder('failing');
      builder.weight('w', 'uint8', [4096], () => new Uint8Array(4096));
      builder.weight('v', 'uint8', [4096], () => new Uint8Array(1));
      const options = { folder: into, embedLimitBytes: 0, checkpointBytes: 1, resumeKey };
      await expect(writeOnnxModel(builder.build(), options)).rejects.toThrow('The tensor v should have 4096 bytes');
      expect(await readdir(into)).toEqual([]);
    });
  });
});
