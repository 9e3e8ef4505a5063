import { memoryAccess, type RandomAccess, readFields, varintsOf, type WireField } from './protobuf-reader.js';

/** A tensor of a graph: its description, and the location of its bytes in the file. */
export interface StoredTensor {
  name: string;
  /** `TensorProto.DataType`. */
  type: number;
  dimensions: number[];
  /** Position and length of the raw little-endian data. */
  data: { start: number; length: number };
}

/** An input or output. A dimension without a name and number is free and gets a name. */
export interface StoredValue {
  name: string;
  type: number;
  dimensions: (string | number)[];
}

/** A model written by another exporter. Nodes stay encoded and are decoded on demand. */
export interface StoredModel {
  ir: number;
  opsets: { domain: string; version: number }[];
  name: string;
  /** Encoded `NodeProto`s, in order. */
  nodes: Uint8Array[];
  initializers: StoredTensor[];
  inputs: StoredValue[];
  outputs: StoredValue[];
}

const modelFields = { ir: 1, graph: 7, opset: 8 } as const;
const graphFields = { node: 1, name: 2, initializer: 5, input: 11, output: 12 } as const;
const tensorFields = { dims: 1, type: 2, name: 8, raw: 9, externalData: 13, dataLocation: 14 } as const;

/** Fields of `TensorProto` that hold values one by one; common exporters write raw bytes instead. */
const listedValues = new Set([4, 5, 6, 7, 10, 11]);

/**
 * Reads the structure of an ONNX model without its weights. Throws `RangeError` for another file, or if its weights are
 * not raw bytes inside it. With `allowsExternal` they may lie in another file, with `allowsListed` be listed one by one;
 * the data of those is empty.
 */
export async function readOnnxModel(file: RandomAccess, options: ReadOptions = {}): Promise<StoredModel> {
  const model: StoredModel = { ir: 0, opsets: [], name: '', nodes: [], initializers: [], inputs: [], outputs: [] };
  let hasGraph = false;
  for await (const field of readFields(file)) {
    if (field.number === modelFields.ir) model.ir = Number(field.value);
    if (field.number === modelFields.opset) model.opsets.push(await readOpset(file, field));
    if (field.number !== modelFields.graph) continue;
    hasGraph = true;
    await readGraph(file, field, { model, options });
  }
  if (!hasGraph) throw new RangeError('it holds no graph');
  return model;
}

interface ReadOptions {
  allowsExternal?: boolean;
  allowsListed?: boolean;
}

async function readGraph(
  file: RandomAccess,
  graph: WireField,
  { model, options }: { model: StoredModel; options: ReadOptions },
): Promise<void> {
  for await (const field of readFields(file, graph.start, graph.start + graph.length)) {
    switch (field.number) {
      case graphFields.node:
        // Copies, because the bytes outlive the read buffer.
        model.nodes.push(Uint8Array.from(await file.read(field.start, field.length)));
        break;
      case graphFields.name:
        model.name = await readText(file, field);
        break;
      case graphFields.initializer:
        model.initializers.push(await readTensor(file, field, options));
        break;
      case graphFields.input:
        model.inputs.push(await readValue(file, field));
        break;
      case graphFields.output:
        model.outputs.push(await readValue(file, field));
        break;
    }
  }
}

async function readTensor(file: RandomAccess, tensor: WireField, options: ReadOptions): Promise<StoredTensor> {
  const read: StoredTensor = { name: '', type: 0, dimensions: [], data: { start: tensor.start, length: 0 } };
  for await (const field of readFields(file, tensor.start, tensor.start + tensor.length)) {
    if (field.number === tensorFields.dims) {
      const content = field.wire === 2 ? await file.read(field.start, field.length) : new Uint8Array(0);
      read.dimensions.push(...varintsOf(field, content).map(Number));
    }
    if (field.number === tensorFields.type) read.type = Number(field.value);
    if (field.number === tensorFields.name) read.name = await readText(file, field);
    if (field.number === tensorFields.raw) read.data = { start: field.start, length: field.length };
    const isElsewhere =
      field.number === tensorFields.externalData || (field.number === tensorFields.dataLocation && field.value !== 0n);
    if (isElsewhere && !options.allowsExternal) throw new RangeError('its weights lie in another file');
    const isListed = listedValues.has(field.number) && field.length > 0;
    if (isListed && !options.allowsListed) throw new RangeError('its weights are not raw bytes');
  }
  return read;
}

/** Decodes a `ValueInfoProto` of a tensor. */
export async function decodeValue(encoded: Uint8Array): Promise<StoredValue> {
  return await readValue(memoryAccess(encoded), { start: 0, length: encoded.length });
}

/** Parses a `ValueInfoProto`: name, and the type of a tensor with its shape. */
async function readValue(file: RandomAccess, value: Pick<WireField, 'start' | 'length'>): Promise<StoredValue> {
  const read: StoredValue = { name: '', type: 0, dimensions: [] };
  for await (const field of readFields(file, value.start, value.start + value.length)) {
    if (field.number === 1) read.name = await readText(file, field);
    if (field.number !== 2) continue;
    for await (const tensor of within(file, field, 1)) {
      for await (const part of within(file, tensor)) {
        if (part.number === 1) read.type = Number(part.value);
        if (part.number === 2) read.dimensions = await readShape(file, part, read.name);
      }
    }
  }
  return read;
}

async function readShape(file: RandomAccess, shape: WireField, name: string): Promise<(string | number)[]> {
  const dimensions: (string | number)[] = [];
  for await (const dimension of within(file, shape, 1)) {
    let size: string | number = `${name}_${dimensions.length}`;
    for await (const part of within(file, dimension)) {
      if (part.number === 1) size = Number(part.value);
      if (part.number === 2) size = await readText(file, part);
    }
    dimensions.push(size);
  }
  return dimensions;
}

async function readOpset(file: RandomAccess, opset: WireField): Promise<{ domain: string; version: number }> {
  const read = { domain: '', version: 0 };
  for await (const field of within(file, opset)) {
    if (field.number === 1) read.domain = await readText(file, field);
    if (field.number === 2) read.version = Number(field.value);
  }
  return read;
}

async function* within(file: RandomAccess, message: WireField, only?: number): AsyncGenerator<WireField> {
  for await (const field of readFields(file, message.start, message.start + message.length)) {
    if (only === undefined || field.number === only) yield field;
  }
}

async function readText(file: RandomAccess, field: WireField): Promise<string> {
  return Buffer.from(await file.read(field.start, field.length)).toString('utf8');
}
