/*
 * The parts of onnx.proto that the writer uses. Opset 17 with IR 8 is the oldest pair with everything the graphs need
 * (LayerNormalization, Reduce* axes as attributes), so most runtimes can load them.
 */
export const onnxVersions = { ir: 8, opset: 17, contribOpset: 1 } as const;

/** onnxruntime's own operators outside the ONNX standard: fused norms, quantised MatMul, rotary embedding. */
export const contribDomain = 'com.microsoft';

export type OnnxDataType = 'float32' | 'uint8' | 'int8' | 'int32' | 'int64' | 'bool' | 'float16';

/** `TensorProto.DataType`. */
export const onnxDataTypeCode: Record<OnnxDataType, number> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
};

export const onnxDataTypeBytes: Record<OnnxDataType, number> = {
  float32: 4,
  uint8: 1,
  int8: 1,
  int32: 4,
  int64: 8,
  bool: 1,
  float16: 2,
};

/** A named dimension is free; a number is fixed. */
export type OnnxDimension = string | number;

/**
 * Integers become `INT` (or `INTS`), `{ float }` becomes `FLOAT`: JavaScript cannot distinguish 1 from 1.0. A graph is
 * that of a branch, which reads the weights of the graph around it.
 */
export type OnnxAttribute = number | number[] | string | { float: number } | { graph: OnnxGraph };

export interface OnnxNode {
  /** Encoded node of another exporter; the other members are then empty. */
  encoded?: Uint8Array;
  operator: string;
  /** Empty for the standard operators. */
  domain: string;
  /** An empty name is an absent optional input. */
  inputs: string[];
  outputs: string[];
  attributes: Record<string, OnnxAttribute>;
}

export interface OnnxValue {
  name: string;
  type: OnnxDataType;
  /** Null: of an unknown number. */
  dimensions: OnnxDimension[] | null;
}

/**
 * Bytes of a tensor, little-endian and row-major, produced when the file is written, piece by piece if large. The
 * reader owns each piece: its memory must not be reused for the next one.
 */
export type TensorContent = () => Uint8Array | AsyncIterable<Uint8Array>;

export interface OnnxInitializer {
  name: string;
  type: OnnxDataType;
  dimensions: number[];
  content: TensorContent;
  /** Its content results from that of the initializer before it, which must be produced first. */
  continues?: boolean;
}

export interface OnnxGraph {
  /** Versions of a graph from another exporter; default: `onnxVersions`. */
  versions?: { ir: number; opsets: { domain: string; version: number }[] };
  name: string;
  nodes: OnnxNode[];
  inputs: OnnxValue[];
  outputs: OnnxValue[];
  /** Written in this order. */
  initializers: OnnxInitializer[];
}

export function initializerBytes(initializer: OnnxInitializer): number {
  return initializer.dimensions.reduce((product, size) => product * size, onnxDataTypeBytes[initializer.type]);
}
