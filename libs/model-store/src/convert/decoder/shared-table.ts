import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { type DecoderShape, weightNames } from './decoder-shape.js';
import {
  addBlocks,
  type BlockWeights,
  emitBlockProduct,
  type LinearFormat,
  type LinearLayer,
  type StoredBlocks,
} from './linear-layer.js';
import type { WeightSource } from './weight-source.js';

/* One table as embeddings and output layer, for models whose weights are tied. */

export interface TableFormats {
  head: LinearFormat;
  embedding: 'float32' | 'float16';
  /** Blocks of the output layer hold the values of the file. */
  keepsValues: boolean;
}

/**
 * True if one table can be both without another value in either: floats, or whole blocks of 8 bits. A decoder without an
 * output layer has nothing to share.
 */
export function canShareTable(
  { tiedHead, headless, hiddenSize }: Pick<DecoderShape, 'tiedHead' | 'headless' | 'hiddenSize'>,
  { head, embedding, keepsValues }: TableFormats,
): boolean {
  if (!tiedHead || headless) return false;
  if (head.kind === 'float32') return embedding === 'float32';
  return keepsValues && isReadByRows(head) && hiddenSize % head.blockSize === 0;
}

/** Blocks that are turned into floats row by row. */
function isReadByRows(format: LinearFormat): format is { kind: 'blocks' } & StoredBlocks {
  return format.kind === 'blocks' && format.bits === 8 && !format.hasOffset;
}

/** The code of 8 bits that stands for zero. */
const middleCode = 128;

/** Adds computations with the table of a decoder; `format` is that of its output layer. */
export class SharedTable {
  private blocks: BlockWeights | null = null;

  constructor(
    private readonly builder: GraphBuilder,
    private readonly weights: WeightSource,
    private readonly format: LinearFormat,
    private readonly layer: LinearLayer,
    /** Name of the embeddings in the graph. */
    private readonly table: string = weightNames.embedding,
  ) {}

  /** Returns rows of blocks as floats, `[…ids, inputs]`. Null for a table of floats, which is gathered like any other. */
  rows(ids: ValueName): ValueName | null {
    const { builder, format, layer } = this;
    if (!isReadByRows(format)) return null;
    const { inputs, outputs } = layer;
    const { codes, scales } = (this.blocks ??= addBlocks(builder, this.weights, format, layer));
    const perRow = builder.node('Reshape', [scales, builder.integers([outputs, inputs / format.blockSize])]);
    const rowScales = builder.node('Unsqueeze', [builder.node('Gather', [perRow, ids]), builder.integers([-1])]);
    const rowCodes = builder.node('Cast', [builder.node('Gather', [codes, ids])], { to: onnxDataTypeCode.float32 });
    const values = builder.node('Mul', [builder.node('Sub', [rowCodes, builder.float(middleCode)]), rowScales]);
    return builder.node('Reshape', [values, builder.integers([0, 0, inputs])]);
  }

  /** Returns the product with the whole table. Its rows must be in the graph already. */
  product(input: ValueName): ValueName {
    const { builder, format, layer, table, blocks } = this;
    if (blocks !== null && isReadByRows(format)) return emitBlockProduct(builder, format, { input, ...blocks }, layer);
    return builder.contribNode('FusedMatMul', [input, table], { transA: 0, transB: 1 });
  }
}
