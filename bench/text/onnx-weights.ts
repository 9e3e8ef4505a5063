import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import onnxProto, { type onnx } from 'onnx-proto';
import type { CodedRows } from './gguf-blocks.js';

/** ONNX element types of weights. */
const floatKinds: Record<number, 'float32' | 'float16'> = { 1: 'float32', 10: 'float16' };

/** Weights of a converted model by name, from the graph or the file beside it. */
export class OnnxWeights {
  private constructor(
    private readonly tensors: Map<string, onnx.ITensorProto>,
    private readonly external: Map<string, Buffer>,
  ) {}

  static async open(folder: string): Promise<OnnxWeights> {
    const model = onnxProto.onnx.ModelProto.decode(await readFile(join(folder, 'model.onnx')));
    const initializers = model.graph?.initializer ?? [];
    const locations = new Set(initializers.flatMap((tensor) => externalOf(tensor).get('location') ?? []));
    const external = new Map<string, Buffer>();
    for (const location of locations) external.set(location, await readFile(join(folder, location)));
    return new OnnxWeights(new Map(initializers.map((tensor) => [tensor.name ?? '', tensor])), external);
  }

  /** Returns a linear layer stored in blocks; null if it is stored in floating point. */
  codedRows(name: string, columns: number, rows: number): CodedRows | null {
    const codes = this.tensors.get(`${name}.codes`);
    const scales = this.tensors.get(`${name}.scales`);
    if (!codes || !scales) return null;
    if (this.tensors.has(`${name}.offsets`)) throw new Error(`${name} has minima, which these blocks do not hold`);
    return { columns, rows, codes: this.bytes(codes), scales: new Float32Array(aligned(this.bytes(scales))) };
  }

  plain(name: string): { data: Uint8Array; kind: 'float32' | 'float16' } {
    const tensor = this.tensors.get(name);
    const kind = floatKinds[tensor?.dataType ?? 0];
    if (!tensor || !kind) throw new Error(`the graph has no weight ${name} in floating point`);
    return { data: this.bytes(tensor), kind };
  }

  private bytes(tensor: onnx.ITensorProto): Uint8Array {
    const entries = externalOf(tensor);
    const file = this.external.get(entries.get('location') ?? '');
    if (!file) return tensor.rawData ?? new Uint8Array();
    const offset = Number(entries.get('offset') ?? 0);
    return file.subarray(offset, offset + Number(entries.get('length') ?? file.length - offset));
  }
}

function externalOf(tensor: onnx.ITensorProto): Map<string, string> {
  return new Map((tensor.externalData ?? []).map(({ key, value }) => [key ?? '', value ?? '']));
}

/** Copies the data, because four-byte views need alignment. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.length);
  new Uint8Array(copy).set(bytes);
  return copy;
}
