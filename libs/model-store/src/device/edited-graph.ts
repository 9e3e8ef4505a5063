import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InputFile } from '../convert/input-file.js';
import {
  bytesOf,
  decodeNode,
  encodeInitializer,
  encodeInput,
  encodeNode,
  type GraphNode,
  memoryAccess,
  type OnnxDataType,
  type OnnxNode,
  type OnnxValue,
  ProtobufEncoder,
  readFields,
  varintsOf,
  type WireField,
} from '../onnx/index.js';
import { onnxDataTypeCode } from '../onnx/onnx-types.js';

/** A graph as a file, or its content with the external data of that file. */
export interface GraphFile {
  folder: string;
  graphFile: string;
  model?: Uint8Array;
}

/** A weight of a graph, in the graph or in a file beside it. */
export interface StoredWeight {
  name: string;
  /** `TensorProto.DataType`. */
  type: number;
  dimensions: number[];
}

interface Weight extends StoredWeight {
  encoded: Uint8Array;
  /** Absent for a weight in another file, and for one whose values are listed one by one. */
  raw?: Uint8Array;
  external?: { location: string; offset: number; length: number };
}

/** Graphs of our converters keep large weights in another file. */
const maxGraphBytes = 256 * 2 ** 20;

/** A protobuf message has at most 2 GiB. */
const maxAddedBytes = 1.5 * 2 ** 30;

const graphField = 7;
const graphFields = { node: 1, initializer: 5, input: 11, output: 12 } as const;
const tensorFields = { dims: 1, type: 2, name: 8, raw: 9, external: 13 } as const;
const edited = new Set<number>(Object.values(graphFields));

/** A graph that is taken apart, changed and put together again. Nodes that lead to no output are left out. */
export class EditedGraph {
  readonly nodes: GraphNode[] = [];
  readonly inputs = new Map<string, Uint8Array>();
  readonly outputs = new Map<string, Uint8Array>();
  private readonly encodedNodes: Uint8Array[] = [];
  private readonly weights = new Map<string, Weight>();
  private readonly producers = new Map<string, GraphNode>();
  private readonly readers = new Map<string, GraphNode[]>();
  private addedBytes = 0;
  private addedNodes = 0;
  private hasChanged = false;
  private keepsInputs = false;

  private constructor(
    private readonly bytes: Uint8Array,
    private readonly folder: string,
  ) {}

  /** Returns null for a file that is too large to be changed in memory. */
  static async open({ folder, graphFile, model }: GraphFile): Promise<EditedGraph | null> {
    const path = join(folder, graphFile);
    if (model === undefined && (await stat(path)).size > maxGraphBytes) return null;
    const bytes = model ?? (await readFile(path));
    const graph = new EditedGraph(bytes, dirname(path));
    for await (const field of readFields(memoryAccess(bytes))) {
      if (field.number === graphField) await graph.read(contentOf(bytes, field));
    }
    return graph;
  }

  producer(value: string | undefined): GraphNode | undefined {
    return this.producers.get(value ?? '');
  }

  /** Nodes that take a value. */
  consumers(value: string | undefined): readonly GraphNode[] {
    return this.readers.get(value ?? '') ?? [];
  }

  weight(name: string | undefined): StoredWeight | undefined {
    return this.weights.get(name ?? '');
  }

  /** Weights by their names. */
  names(): string[] {
    return [...this.weights.keys()];
  }

  /** Returns the values of a weight; null if they are not raw bytes. */
  async bytesOf(name: string): Promise<Uint8Array | null> {
    const weight = this.weights.get(name);
    if (weight?.raw !== undefined) return weight.raw;
    if (weight?.external === undefined) return null;
    const { location, offset, length } = weight.external;
    // A graph from elsewhere must not name files of other folders.
    if (dirname(resolve(this.folder, location)) !== resolve(this.folder)) return null;
    const file = await InputFile.open(this.folder, location);
    try {
      return await file.read(offset, length);
    } finally {
      await file.close();
    }
  }

  /** Returns a number that is part of the graph; null for any other value. */
  async floatOf(name: string | undefined): Promise<number | null> {
    const weight = this.weights.get(name ?? '');
    const bytes = weight?.type === onnxDataTypeCode.float32 ? await this.bytesOf(weight.name) : null;
    return bytes?.length === 4 ? new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true) : null;
  }

  /** Returns integers that are part of the graph; null for any other value. */
  async integersOf(name: string | undefined): Promise<number[] | null> {
    const weight = this.weights.get(name ?? '');
    const bytes = weight?.type === onnxDataTypeCode.int64 ? await this.bytesOf(weight.name) : null;
    if (bytes === null) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Array.from({ length: bytes.length / 8 }, (_, index) => Number(view.getBigInt64(8 * index, true)));
  }

  /** Puts nodes in the place of another one, whose outputs they may take over. */
  replaceNode(node: GraphNode, ...replacements: OnnxNode[]): void {
    const index = this.nodes.indexOf(node);
    for (const name of node.outputs) this.producers.delete(name);
    const decoded = replacements.map(({ operator, inputs, outputs }) => ({ operator, inputs, outputs, integers: {} }));
    const encoded = replacements.map((node) => encodeNode(node, `device-${(this.addedNodes += 1)}`).finish());
    this.nodes.splice(index, 1, ...decoded);
    this.encodedNodes.splice(index, 1, ...encoded);
    for (const node of decoded) for (const name of node.outputs) this.producers.set(name, node);
    this.hasChanged = true;
  }

  /** Adds a weight, or replaces the one with its name. Throws `RangeError` beyond what a graph in memory can hold. */
  setWeight(name: string, type: OnnxDataType, dimensions: number[], values: ArrayBufferView): void {
    this.addedBytes += values.byteLength;
    if (this.addedBytes > maxAddedBytes) throw new RangeError('the weights to convert exceed 1.5 GiB');
    const encoded = encodeInitializer({ name, type, dimensions }, bytesOf(values)).finish();
    this.weights.set(name, { name, type: 0, dimensions, encoded });
    this.hasChanged = true;
  }

  /** Keeps inputs that nothing reads, as a caller feeds them; otherwise they are left out of a changed graph. */
  keepInputs(): void {
    this.keepsInputs = true;
  }

  setInput(value: OnnxValue): void {
    this.inputs.set(value.name, encodeInput(value));
    this.hasChanged = true;
  }

  setOutput(value: OnnxValue): void {
    this.outputs.set(value.name, encodeInput(value));
    this.hasChanged = true;
  }

  /** Returns the encoded graph; null if nothing was changed. */
  async encode(): Promise<Uint8Array | null> {
    if (!this.hasChanged) return null;
    const { bytes } = this;
    const model = new ProtobufEncoder();
    for await (const field of readFields(memoryAccess(bytes))) {
      const content = contentOf(bytes, field);
      if (field.number === graphField) model.message(graphField, await this.encodeGraph(content));
      else if (field.wire === 0) model.integer(field.number, field.value);
      else model.bytes(field.number, content);
    }
    return model.finish();
  }

  private async encodeGraph(encoded: Uint8Array): Promise<ProtobufEncoder> {
    const { kept, used } = this.reachable();
    const graph = new ProtobufEncoder();
    for (const index of kept) graph.bytes(graphFields.node, this.encodedNodes[index] as Uint8Array);
    for await (const field of readFields(memoryAccess(encoded))) {
      if (!edited.has(field.number)) graph.bytes(field.number, contentOf(encoded, field));
    }
    for (const [name, weight] of this.weights) if (used.has(name)) graph.bytes(graphFields.initializer, weight.encoded);
    for (const [name, input] of this.inputs) {
      if (this.keepsInputs || used.has(name)) graph.bytes(graphFields.input, input);
    }
    for (const output of this.outputs.values()) graph.bytes(graphFields.output, output);
    return graph;
  }

  /** Nodes that lead to outputs, and the values that these use. */
  private reachable(): { kept: number[]; used: Set<string> } {
    const used = new Set(this.outputs.keys());
    const kept: number[] = [];
    // From the end, because a node comes after those that it takes values of.
    for (let index = this.nodes.length - 1; index >= 0; index -= 1) {
      const node = this.nodes[index] as GraphNode;
      if (!node.outputs.some((name) => name !== '' && used.has(name))) continue;
      kept.push(index);
      for (const name of node.inputs) used.add(name);
    }
    return { kept: kept.reverse(), used };
  }

  private addReader(name: string, node: GraphNode): void {
    const known = this.readers.get(name);
    if (known === undefined) this.readers.set(name, [node]);
    else known.push(node);
  }

  private async read(graph: Uint8Array): Promise<void> {
    for await (const field of readFields(memoryAccess(graph))) {
      if (!edited.has(field.number)) continue;
      const content = contentOf(graph, field);
      if (field.number === graphFields.node) {
        this.nodes.push(await decodeNode(content));
        this.encodedNodes.push(content);
      } else if (field.number === graphFields.initializer) {
        const weight = await readWeight(content);
        this.weights.set(weight.name, weight);
      } else {
        const side = field.number === graphFields.input ? this.inputs : this.outputs;
        side.set(await textAt(content, 1), content);
      }
    }
    for (const node of this.nodes) {
      for (const name of node.outputs) this.producers.set(name, node);
      for (const name of node.inputs) this.addReader(name, node);
    }
  }
}

async function readWeight(encoded: Uint8Array): Promise<Weight> {
  const weight: Weight = { name: '', type: 0, dimensions: [], encoded };
  const places = new Map<string, string>();
  for await (const field of readFields(memoryAccess(encoded))) {
    const content = field.wire === 2 ? contentOf(encoded, field) : new Uint8Array(0);
    if (field.number === tensorFields.dims) weight.dimensions.push(...varintsOf(field, content).map(Number));
    if (field.number === tensorFields.type) weight.type = Number(field.value);
    if (field.number === tensorFields.name) weight.name = Buffer.from(content).toString('utf8');
    if (field.number === tensorFields.raw) weight.raw = content;
    if (field.number === tensorFields.external) places.set(await textAt(content, 1), await textAt(content, 2));
  }
  const location = places.get('location');
  if (location !== undefined) {
    const number = (key: string) => Number(places.get(key) ?? 0);
    weight.external = { location, offset: number('offset'), length: number('length') };
  }
  return weight;
}

async function textAt(message: Uint8Array, number: number): Promise<string> {
  for await (const field of readFields(memoryAccess(message))) {
    if (field.number === number) return Buffer.from(contentOf(message, field)).toString('utf8');
  }
  return '';
}

function contentOf(bytes: Uint8Array, { start, length }: WireField): Uint8Array {
  return bytes.subarray(start, start + length);
}
