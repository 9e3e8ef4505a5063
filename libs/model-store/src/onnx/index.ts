export { bytesOf, GraphBuilder, type ValueName } from './graph-builder.js';
export { writeOnnxModel, type WriteModelOptions } from './onnx-model.writer.js';
export type { OnnxDataType, OnnxGraph, TensorContent } from './onnx-types.js';
