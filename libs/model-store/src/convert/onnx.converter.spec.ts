import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeFloat16 } from '#common';
import { bytesOf, GraphBuilder, ProtobufEncoder, writeOnnxModel } from '../onnx/index.js';
import { convertModel } from './index.js';

const { onnx } = onnxProto;

let folder: string;
let inputFolder: string;
let outputFolder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-onnx-'));
  [inputFolder, outputFolder] = [join(folder, 'input'), join(folder, 'output')];
  await mkdir(inputFolder);
  await mkdir(outputFolder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const values = [1, -2.5, 65_504, 0.000_061];

async function writeHalfModel(): Promise<void> {
  const graph = new GraphBuilder('half');
  const input = graph.input('x', 'float32', [1, 'length']);
  const halves = graph.weight('w', 'float16', [values.length], () =>
    bytesOf(Uint16Array.from(values, (value) => encodeFloat16(value))),
  );
  const half = graph.node('Cast', [input], { to: 10 });
  const whole = graph.node('Cast', [half], { to: 1 });
  const kept = graph.node('LeakyRelu', [whole], { alpha: { float: 0.25 } });
  graph.node('Gather', [kept, graph.integers([0, 1])], { axis: 1 }, 'y');
  graph.node('Add', [half, halves], {}, 'z');
  graph.output('y', 'float32', [1, 2]);
  graph.output('z', 'float16', [1, 'length']);
  await writeOnnxModel(graph.build(), { folder: inputFolder, fileName: 'half.onnx' });
}

function convert(options: Record<string, string> = { weights: 'float32' }) {
  return convertModel({ kind: 'onnx', options, inputFolder, outputFolder });
}

describe('the half-precision graph converter', () => {
  it('widens weights, casts and outputs, and copies other files', async () => {
    await writeHalfModel();
    await mkdir(join(inputFolder, 'voices'));
    await writeFile(join(inputFolder, 'voices', 'a.bin'), 'voice');
    const { converter, files } = await convert();
    expect(converter).toBe('onnx/1 float32');
    expect(files.sort()).toEqual(['model.onnx', 'voices/a.bin']);
    expect(await readFile(join(outputFolder, 'voices', 'a.bin'), 'utf8')).toBe('voice');

    const model = onnx.ModelProto.decode(await readFile(join(outputFolder, 'model.onnx')));
    const { node, initializer, output, input } = model.graph as onnxProto.onnx.GraphProto;
    const casts = node.filter(({ opType }) => opType === 'Cast').map(({ attribute }) => Number(attribute?.[0]?.i));
    expect(casts).toEqual([1, 1]);
    const alpha = node.find(({ opType }) => opType === 'LeakyRelu')?.attribute?.[0];
    expect(alpha?.f).toBe(0.25);
    expect(Number(node.find(({ opType }) => opType === 'Gather')?.attribute?.[0]?.i)).toBe(1);
    const weight = initializer.find(({ name }) => name === 'w');
    expect(weight?.dataType).toBe(1);
    const raw = Buffer.from(weight?.rawData ?? []);
    expect(values.map((_, index) => raw.readFloatLE(4 * index)).slice(0, 3)).toEqual(values.slice(0, 3));
    expect(output.map(({ type }) => type?.tensorType?.elemType)).toEqual([1, 1]);
    expect(
      input[0]?.type?.tensorType?.shape?.dim?.map(({ dimParam, dimValue }) => dimParam || Number(dimValue)),
    ).toEqual([1, 'length']);
    expect(model.opsetImport.map(({ version }) => Number(version))).toEqual([17, 1]);
  });

  it('rejects a file that is not a model, a truncated one, and two candidates', async () => {
    await expect(convert()).rejects.toMatchObject({ code: 'INVALID_MODEL' });
    await writeFile(join(inputFolder, 'half.onnx'), 'not a model at all');
    await expect(convert()).rejects.toMatchObject({ code: 'INVALID_MODEL', param: 'half.onnx' });
    await writeHalfModel();
    const whole = await readFile(join(inputFolder, 'half.onnx'));
    await writeFile(join(inputFolder, 'half.onnx'), whole.subarray(0, whole.length - 40));
    await expect(convert()).rejects.toMatchObject({ code: 'INVALID_MODEL' });
    await writeFile(join(inputFolder, 'second.onnx'), whole);
    await expect(convert()).rejects.toMatchObject({ code: 'INVALID_MODEL' });
  });

  it('rejects weights that are not those of their shape', async () => {
    const tensor = new ProtobufEncoder().integer(1, 5).integer(2, 1).text(8, 'w').bytes(9, new Uint8Array(16));
    const graph = new ProtobufEncoder().text(2, 'g').message(5, tensor);
    const model = new ProtobufEncoder().integer(1, 8).message(7, graph).finish();
    await writeFile(join(inputFolder, 'half.onnx'), model);
    await expect(convert()).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      message: expect.stringContaining('the tensor w has 16 bytes') as string,
    });
  });

  it('rejects weights outside the file', async () => {
    const tensor = new ProtobufEncoder().integer(1, 1).integer(2, 1).text(8, 'w').integer(14, 1);
    const graph = new ProtobufEncoder().text(2, 'g').message(5, tensor);
    const model = new ProtobufEncoder().integer(1, 8).message(7, graph).finish();
    await writeFile(join(inputFolder, 'half.onnx'), model);
    await expect(convert()).rejects.toMatchObject({ message: expect.stringContaining('another file') as string });
  });
});
