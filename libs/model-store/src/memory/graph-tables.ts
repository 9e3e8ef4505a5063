import { addedBlockBytes } from '#model-memory';
import type { GraphNode, StoredTensor } from '../onnx/index.js';

/** Bytes of a value by `TensorProto.DataType`; 4-bit codes are packed in bytes. */
const bytesByType: Readonly<Record<number, number>> = {
  1: 4,
  2: 1,
  3: 1,
  6: 4,
  7: 8,
  9: 1,
  10: 2,
  16: 2,
  21: 0.5,
  22: 0.5,
};

/** Smaller tables may be copied by the runtime. */
const leastMappedBytes = 2 ** 20;

/** Operators that read some rows of a table, and where among their inputs. */
const gathered: Readonly<Record<string, readonly number[]>> = { Gather: [0], EmbedLayerNormalization: [2, 3, 4] };

/** Initializers of which only rows are gathered: in a file of weights they are mapped, and hardly read. */
export function tablesOf(nodes: readonly GraphNode[]): Set<string> {
  const tables = new Set<string>();
  const others = new Set<string>();
  for (const { operator, inputs } of nodes) {
    const positions = gathered[operator] ?? [];
    inputs.forEach((name, index) => (positions.includes(index) ? tables : others).add(name));
  }
  for (const name of others) tables.delete(name);
  return tables;
}

/** Whether the runtime maps a tensor of a file of weights, and reads little of it. */
export function isMapped(tensor: StoredTensor, tables: ReadonlySet<string>): boolean {
  return tables.has(tensor.name) && bytesOfTensor(tensor) >= leastMappedBytes;
}

export function bytesOfTensor({ type, dimensions }: Pick<StoredTensor, 'type' | 'dimensions'>): number {
  return dimensions.reduce((product, size) => product * size, bytesByType[type] ?? 4);
}

/** Returns the bytes that the runtime adds to the blocks of a matrix. */
export function addedBytesOf({ operator, integers }: GraphNode): number {
  const { K: inputs = 0, N: outputs = 0, block_size: blockSize = 32 } = integers;
  return operator === 'MatMulNBits' ? addedBlockBytes * outputs * Math.ceil(inputs / blockSize) : 0;
}
