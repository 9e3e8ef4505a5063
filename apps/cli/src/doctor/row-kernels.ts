import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGraph } from '#inference';
import { bytesOf, GraphBuilder, writeOnnxModel } from '#model-store';

/** How a matrix of weights is stored, as in the graphs of the converters. */
export interface WeightBlocks {
  bits: 4 | 8;
  blockSize: 32 | 64 | 128;
}

const inputs = 256;
const outputs = 64;
/** Odd, because kernels compute rows in pairs: the last one is computed by another. */
const rowCount = 5;

/** Whether the runtime multiplies one row to the same bits as that row among others, on this processor. */
export async function multipliesRowsAlike(weights: WeightBlocks): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-rows-'));
  try {
    await writeProduct(folder, weights);
    const session = await openGraph({
      modelPath: join(folder, 'model.onnx'),
      providers: ['cpu'],
      intraOpThreads: 1,
    });
    const rows = Float32Array.from({ length: rowCount * inputs }, (_, index) => Math.sin(index * 1.7));
    const multiply = async (from: number, count: number): Promise<Float32Array> => {
      const values = rows.slice(from * inputs, (from + count) * inputs);
      const { products } = await session.run({ rows: session.tensor('float32', values, [count, inputs]) }, [
        'products',
      ]);
      return products?.data as Float32Array;
    };
    const together = await multiply(0, rowCount);
    for (let row = 0; row < rowCount; row++) {
      const alone = await multiply(row, 1);
      const beside = together.subarray(row * outputs, (row + 1) * outputs);
      if (alone.some((value, column) => value !== beside[column])) return false;
    }
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeProduct(folder: string, { bits, blockSize }: WeightBlocks): Promise<void> {
  const graph = new GraphBuilder('rows');
  const blocks = inputs / blockSize;
  const blockBytes = (blockSize * bits) / 8;
  const codes = Uint8Array.from({ length: outputs * blocks * blockBytes }, (_, index) => (index * 37) % 251);
  const scales = Float32Array.from({ length: outputs * blocks }, (_, index) => 0.001 + (index % 13) * 0.0007);
  const rows = graph.input('rows', 'float32', ['count', inputs]);
  const operands = [
    rows,
    graph.weight('codes', 'uint8', [outputs, blocks, blockBytes], () => codes),
    graph.weight('scales', 'float32', [outputs * blocks], () => bytesOf(scales)),
  ];
  const attributes = { K: inputs, N: outputs, bits, block_size: blockSize, accuracy_level: 4 };
  graph.output(graph.contribNodeWithOutputs('MatMulNBits', operands, ['products'], attributes), 'float32', [
    'count',
    outputs,
  ]);
  await writeOnnxModel(graph.build(), { folder });
}
