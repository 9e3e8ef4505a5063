import type { ByteSource } from '../convert/byte-source.js';
import { decodeNode, type RandomAccess, readOnnxModel, type StoredValue } from '../onnx/index.js';
import { pullError } from './pull-error.js';

/** The ports of a graph, read without its weights. */
export interface GraphPorts {
  inputs: StoredValue[];
  /** `operator` computes the values; what only changes their shape or type is passed over. */
  outputs: (StoredValue & { operator: string })[];
}

/** Operators that leave values as they are. */
const transparent = ['Identity', 'Cast', 'Reshape', 'Squeeze', 'Unsqueeze', 'Transpose'];

/** Reads the ports of a graph on this disk or behind a url. Throws `MODEL_PULL_FAILED` for another file. */
export async function readGraphPorts(file: ByteSource): Promise<GraphPorts> {
  try {
    const model = await readOnnxModel(new BlockReader(file), { allowsExternal: true, allowsListed: true });
    const weights = new Set(model.initializers.map(({ name }) => name));
    const makers = new Map<string, { operator: string; inputs: string[] }>();
    for (const encoded of model.nodes) {
      const node = await decodeNode(encoded);
      for (const name of node.outputs) makers.set(name, node);
    }
    return {
      // Older exporters list weights among the inputs.
      inputs: model.inputs.filter(({ name }) => !weights.has(name)),
      outputs: model.outputs.map((output) => ({ ...output, operator: operatorOf(output.name, makers) })),
    };
  } catch (error) {
    if (error instanceof RangeError) throw pullError(`${file.name} is no ONNX graph: ${error.message}.`, error);
    throw error;
  }
}

function operatorOf(output: string, makers: ReadonlyMap<string, { operator: string; inputs: string[] }>): string {
  let node = makers.get(output);
  // Every step is to an earlier node, so a valid graph ends; an invalid one is as long as it has nodes.
  for (let steps = 0; steps < makers.size && node !== undefined && transparent.includes(node.operator); steps++) {
    node = makers.get(node.inputs[0] ?? '');
  }
  return node?.operator ?? '';
}

const blockBytes = 128 * 1024;
const maxBlocks = 4;

/** Reads whole blocks, so that the many small reads of a file behind a url are few requests. */
class BlockReader implements RandomAccess {
  readonly bytes: number;
  private readonly blocks = new Map<number, Uint8Array>();

  constructor(private readonly file: ByteSource) {
    this.bytes = file.bytes;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    const end = Math.min(position + length, this.bytes);
    if (end - position > blockBytes) return await this.file.read(position, end - position);
    const content = new Uint8Array(Math.max(0, end - position));
    for (let done = position; done < end;) {
      const start = done - (done % blockBytes);
      const part = (await this.block(start)).subarray(done - start, end - start);
      content.set(part, done - position);
      done += part.length;
    }
    return content;
  }

  private async block(start: number): Promise<Uint8Array> {
    const known = this.blocks.get(start);
    if (known !== undefined) return known;
    const [oldest] = this.blocks.keys();
    if (this.blocks.size >= maxBlocks && oldest !== undefined) this.blocks.delete(oldest);
    const block = await this.file.read(start, Math.min(blockBytes, this.bytes - start));
    this.blocks.set(start, block);
    return block;
  }
}
