import {
  contribDomain,
  onnxDataTypeCode,
  onnxVersions,
  type OnnxAttribute,
  type OnnxDimension,
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  type OnnxValue,
} from './onnx-types.js';
import { ProtobufEncoder } from './protobuf-encoder.js';

/** Location of an initializer's bytes: in the graph itself, or at an offset of the data file beside it. */
export type TensorPlacement = { kind: 'embedded'; bytes: Uint8Array } | ExternalPlacement;

export interface ExternalPlacement {
  kind: 'external';
  /** File name relative to the graph's folder. */
  file: string;
  offset: number;
  length: number;
}

const attributeType = { float: 1, integer: 2, string: 3, graph: 5, integers: 7 } as const;
const externalDataLocation = 1;

/** Encodes a `.onnx` file: a ModelProto. */
export function encodeModel(graph: OnnxGraph, placements: Map<OnnxInitializer, TensorPlacement>): Uint8Array {
  const { ir, opsets } = graph.versions ?? ownVersions;
  const model = new ProtobufEncoder().integer(1, ir).text(2, 'sluice').message(7, encodeGraph(graph, placements));
  for (const { domain, version } of opsets) model.message(8, encodeOpset(domain, version));
  return model.finish();
}

const ownVersions = {
  ir: onnxVersions.ir,
  opsets: [
    { domain: '', version: onnxVersions.opset },
    { domain: contribDomain, version: onnxVersions.contribOpset },
  ],
};

function encodeGraph(graph: OnnxGraph, placements: Map<OnnxInitializer, TensorPlacement>): ProtobufEncoder {
  const message = new ProtobufEncoder();
  for (const [index, node] of graph.nodes.entries()) message.bytes(1, node.encoded ?? encodeNode(node, index).finish());
  message.text(2, graph.name);
  for (const initializer of graph.initializers) {
    const placement = placements.get(initializer);
    if (!placement) throw new Error(`The tensor ${initializer.name} was not written.`);
    message.message(5, encodeTensor(initializer, placement));
  }
  for (const input of graph.inputs) message.message(11, encodeValue(input));
  for (const output of graph.outputs) message.message(12, encodeValue(output));
  return message;
}

function encodeOpset(domain: string, version: number): ProtobufEncoder {
  return new ProtobufEncoder().text(1, domain).integer(2, version);
}

/** Encodes a `NodeProto`; the index makes its name unique. */
export function encodeNode(node: OnnxNode, index: number | string): ProtobufEncoder {
  const message = new ProtobufEncoder();
  for (const input of node.inputs) message.text(1, input);
  for (const output of node.outputs) message.text(2, output);
  message.text(3, `${node.operator}:${index}`).text(4, node.operator);
  for (const [name, value] of Object.entries(node.attributes)) message.message(5, encodeAttribute(name, value));
  if (node.domain) message.text(7, node.domain);
  return message;
}

function encodeAttribute(name: string, value: OnnxAttribute): ProtobufEncoder {
  const message = new ProtobufEncoder().text(1, name);
  if (typeof value === 'string') return message.text(4, value).integer(20, attributeType.string);
  if (typeof value === 'number') return message.integer(3, value).integer(20, attributeType.integer);
  if (Array.isArray(value)) {
    for (const item of value) message.integer(8, item);
    return message.integer(20, attributeType.integers);
  }
  if ('graph' in value) return message.message(6, encodeGraph(value.graph, new Map())).integer(20, attributeType.graph);
  return message.float(2, value.float).integer(20, attributeType.float);
}

function encodeTensor(tensor: Omit<OnnxInitializer, 'content'>, placement: TensorPlacement): ProtobufEncoder {
  const message = new ProtobufEncoder();
  for (const dimension of tensor.dimensions) message.integer(1, dimension);
  message.integer(2, onnxDataTypeCode[tensor.type]).text(8, tensor.name);
  if (placement.kind === 'embedded') return message.bytes(9, placement.bytes);
  const entries = { location: placement.file, offset: placement.offset, length: placement.length };
  for (const [key, value] of Object.entries(entries)) {
    message.message(13, new ProtobufEncoder().text(1, key).text(2, String(value)));
  }
  return message.integer(14, externalDataLocation);
}

function encodeShape(dimensions: readonly OnnxDimension[]): ProtobufEncoder {
  const shape = new ProtobufEncoder();
  for (const dimension of dimensions) {
    const encoded = new ProtobufEncoder();
    shape.message(1, typeof dimension === 'string' ? encoded.text(2, dimension) : encoded.integer(1, dimension));
  }
  return shape;
}

/** Encodes an input or output. */
export function encodeInput(value: OnnxValue): Uint8Array {
  return encodeValue(value).finish();
}

/** Encodes a tensor whose bytes are in the graph. */
export function encodeInitializer(tensor: Omit<OnnxInitializer, 'content'>, bytes: Uint8Array): ProtobufEncoder {
  return encodeTensor(tensor, { kind: 'embedded', bytes });
}

function encodeValue(value: OnnxValue): ProtobufEncoder {
  const tensorType = new ProtobufEncoder().integer(1, onnxDataTypeCode[value.type]);
  if (value.dimensions !== null) tensorType.message(2, encodeShape(value.dimensions));
  return new ProtobufEncoder().text(1, value.name).message(2, new ProtobufEncoder().message(1, tensorType));
}
