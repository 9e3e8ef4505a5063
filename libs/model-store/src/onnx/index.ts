export { decodeNode, type GraphNode } from './graph-node.js';
export { bytesOf, GraphBuilder, type ValueName } from './graph-builder.js';
export { encodeInitializer, encodeInput, encodeNode } from './graph-encoder.js';
export { writeOnnxModel, type WriteModelOptions } from './onnx-model.writer.js';
export { onnxDataTypeBytes } from './onnx-types.js';
export type { OnnxDataType, OnnxGraph, OnnxInitializer, OnnxNode, OnnxValue, TensorContent } from './onnx-types.js';
export {
  decodeValue,
  readOnnxModel,
  type StoredModel,
  type StoredTensor,
  type StoredValue,
} from './onnx-model.reader.js';
export { memoryAccess, type RandomAccess, readFields, varintsOf, type WireField } from './protobuf-reader.js';
export { encodeVarint, ProtobufEncoder } from './protobuf-encoder.js';
export { journalSuffix } from './write-journal.js';
