import { productOf } from '#common/values';
import { decodeFloat16 } from '#common';
import {
  onnxDataTypeBytes,
  memoryAccess,
  type OnnxDataType,
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  type OnnxValue,
  ProtobufEncoder,
  readFields,
  readOnnxModel,
  type StoredTensor,
  type StoredValue,
} from '../onnx/index.js';
import { chooseOption, refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { filesBelow } from '../files-below.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';

/** `TensorProto.DataType`s that graphs store as raw bytes. */
const typeNames: Readonly<Record<number, OnnxDataType>> = {
  1: 'float32',
  2: 'uint8',
  6: 'int32',
  7: 'int64',
  9: 'bool',
  10: 'float16',
};
const float32 = 1;
const float16 = 10;

const nodeFields = { operator: 4, attribute: 5 } as const;
const attributeFields = { name: 1, integer: 3, tensor: 5 } as const;

/** Size of the pieces in which weights are read and widened. */
const pieceBytes = 4 * 1024 * 1024;

/**
 * Half-precision graph → the same graph in single precision, with weights in a separate file; other downloaded files
 * are copied. A CPU computes in single precision anyway, and intermediate results of a graph converted to half
 * precision overflow there.
 *
 * The input is one `*.onnx` file with embedded weights. Option: `weights` `float32`.
 */
export async function convertOnnx(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, ['weights']);
  const weights = chooseOption(request.options, 'weights', ['float32'], 'float32');
  const output = new OutputFolder(request);
  const names = await filesBelow(request.inputFolder);
  const graphs = names.filter((name) => name.endsWith('.onnx'));
  const [graphName] = graphs;
  if (graphName === undefined || graphs.length > 1) throw invalidFile('*.onnx', 'there must be exactly one');
  const file = await InputFile.open(request.inputFolder, graphName);
  try {
    const graph = await singlePrecision(file);
    await output.writing(async () => {
      await output.writeGraph(graph);
      for (const name of names) if (name !== graphName) await output.copy(name);
    });
  } finally {
    await file.close();
  }
  return { converter: `${converterVersions.onnx} ${weights}`, files: output.files };
}

async function singlePrecision(file: InputFile): Promise<OnnxGraph> {
  try {
    const { ir, opsets, name, nodes, initializers, inputs, outputs } = await readOnnxModel(file);
    return {
      versions: { ir, opsets },
      name,
      nodes: await Promise.all(nodes.map(widenNode)),
      initializers: initializers.map((tensor) => widenTensor(file, tensor)),
      inputs: inputs.map((value) => widenValue(file, value)),
      outputs: outputs.map((value) => widenValue(file, value)),
    };
  } catch (error) {
    if (error instanceof RangeError) throw invalidFile(file.name, error.message);
    throw error;
  }
}

function nameOfType(file: InputFile, type: number): OnnxDataType {
  const name = typeNames[type];
  if (name === undefined) throw invalidFile(file.name, `it holds tensors of the unknown type ${type}`);
  return name;
}

function widenedType(file: InputFile, type: number): OnnxDataType {
  const name = nameOfType(file, type);
  return name === 'float16' ? 'float32' : name;
}

function widenValue(file: InputFile, { name, type, dimensions }: StoredValue): OnnxValue {
  return { name, type: widenedType(file, type), dimensions };
}

function widenTensor(file: InputFile, { name, type, dimensions, data }: StoredTensor): OnnxInitializer {
  const values = productOf(dimensions);
  if (values * onnxDataTypeBytes[nameOfType(file, type)] !== data.length) {
    throw invalidFile(file.name, `the tensor ${name} has ${data.length} bytes, which are not those of its shape`);
  }
  const content = type === float16 ? () => widened(file, data) : () => stored(file, data);
  return { name, type: widenedType(file, type), dimensions, content };
}

async function* stored(file: InputFile, { start, length }: StoredTensor['data']): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < length; done += pieceBytes) {
    yield await file.read(start + done, Math.min(pieceBytes, length - done));
  }
}

async function* widened(file: InputFile, data: StoredTensor['data']): AsyncGenerator<Uint8Array> {
  for await (const piece of stored(file, data)) yield widenBytes(piece);
}

function widenBytes(bytes: Uint8Array): Uint8Array {
  const halves = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const floats = new Float32Array(bytes.length / 2);
  for (let index = 0; index < floats.length; index += 1)
    floats[index] = decodeFloat16(halves.getUint16(index * 2, true));
  return new Uint8Array(floats.buffer);
}

/**
 * Rewrites casts to half precision as casts to single, and likewise constants inside nodes. Other nodes keep their
 * bytes.
 */
async function widenNode(encoded: Uint8Array): Promise<OnnxNode> {
  const source = memoryAccess(encoded);
  const node = new ProtobufEncoder();
  let operator = '';
  // The operator field may follow the attributes.
  for await (const field of readFields(source)) {
    if (field.number === nodeFields.operator) operator = textAt(encoded, field);
  }
  for await (const field of readFields(source)) {
    const content = encoded.subarray(field.start, field.start + field.length);
    if (field.number === nodeFields.attribute) node.bytes(field.number, await widenAttribute(content, operator));
    else node.bytes(field.number, content);
  }
  return { encoded: node.finish(), operator: '', domain: '', inputs: [], outputs: [], attributes: {} };
}

async function widenAttribute(encoded: Uint8Array, operator: string): Promise<Uint8Array> {
  const attribute = new ProtobufEncoder();
  let name = '';
  for await (const field of readFields(memoryAccess(encoded))) {
    const content = encoded.subarray(field.start, field.start + field.length);
    if (field.number === attributeFields.name) name = textAt(encoded, field);
    // Of these two fields the integer is a type.
    const isType =
      field.number === attributeFields.integer && ((operator === 'Cast' && name === 'to') || name === 'dtype');
    if (isType && field.value === BigInt(float16)) attribute.integer(field.number, float32);
    else if (field.number === attributeFields.tensor) attribute.bytes(field.number, await widenConstant(content));
    else if (field.wire === 0) attribute.integer(field.number, field.value);
    else if (field.wire === 5) attribute.fixed32(field.number, content);
    else attribute.bytes(field.number, content);
  }
  return attribute.finish();
}

/** Widens a `TensorProto` inside an attribute. */
async function widenConstant(encoded: Uint8Array): Promise<Uint8Array> {
  const fields = [];
  for await (const field of readFields(memoryAccess(encoded))) fields.push(field);
  const isHalf = fields.some(({ number, value }) => number === 2 && value === BigInt(float16));
  if (!isHalf) return encoded;
  const tensor = new ProtobufEncoder();
  for (const field of fields) {
    const content = encoded.subarray(field.start, field.start + field.length);
    if (field.number === 2) tensor.integer(2, float32);
    else if (field.number === 9) tensor.bytes(9, widenBytes(content));
    else if (field.number === 5) throw new RangeError('a constant is not raw bytes');
    else if (field.wire === 0) tensor.integer(field.number, field.value);
    else tensor.bytes(field.number, content);
  }
  return tensor.finish();
}

function textAt(bytes: Uint8Array, { start, length }: { start: number; length: number }): string {
  return Buffer.from(bytes.subarray(start, start + length)).toString('utf8');
}
