import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { bytesOf, GraphBuilder, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import { type BertShape, type BertWeights, emitBertLayers } from '../bert/bert-encoder.js';
import { piecesPerToken } from './clip-vocabulary.js';

/** Tokens of a prompt in the CLIP format. */
export const promptTokens = 77;
/** WordPiece tokens of a prompt, with the two around it. */
const pieceTokens = 32;

export interface PromptGraphParts {
  shape: BertShape;
  weights: BertWeights;
  /** WordPiece ids of each token, `[tokens, piecesPerToken]`. */
  pieces: Int32Array;
  /** WordPiece ids around a text. */
  first: number;
  last: number;
}

/**
 * Builds a prompt encoder for diffusion models: `input_ids` of a CLIP tokenizer to `last_hidden_state`. Its first row is
 * the normalized mean of the tokens, as sentence encoders compute it, scaled to the length of the others. Rows after the
 * last token are zero.
 */
export function emitPromptGraph(parts: PromptGraphParts): OnnxGraph {
  const builder = new GraphBuilder('prompt');
  const tokens = builder.input('input_ids', 'int64', ['batch', promptTokens]);
  const output = 'last_hidden_state';
  builder.output(output, 'float32', ['batch', pieceTokens + 1, parts.shape.hiddenSize]);
  const ids = emitPieceIds(builder, tokens, parts);
  const mask = cast(builder, builder.node('Greater', [ids, builder.integers(0)]), 'int32');
  const types = builder.node('Mul', [ids, builder.integers(0)]);
  const hidden = emitBertLayers(builder, parts, { ids, mask, types });
  emitSentence(builder, { hidden, mask, width: parts.shape.hiddenSize, output });
  return builder.build();
}

/** Adds the WordPiece ids of a prompt, `[batch, pieceTokens]`. */
function emitPieceIds(
  builder: GraphBuilder,
  tokens: ValueName,
  { pieces, first, last }: Pick<PromptGraphParts, 'pieces' | 'first' | 'last'>,
): ValueName {
  const count = promptTokens * piecesPerToken;
  const rows = pieces.length / piecesPerToken;
  const table = builder.weight('pieces', 'int32', [rows, piecesPerToken], () => bytesOf(pieces));
  const found = cast(builder, builder.node('Gather', [table, tokens]), 'int64');
  const all = builder.node('Reshape', [found, builder.integers([0, count])]);
  // Orders the pieces by position, with the empty ones after all others.
  const positions = floats(builder, 'positions', count, (index) => index);
  const behind = floats(builder, 'positions_behind', count, (index) => index + 10 * count);
  const isPresent = builder.node('Greater', [all, builder.integers(0)]);
  const order = builder.node('Where', [isPresent, positions, behind]);
  const chosen = builder.freshName('chosen');
  const best = [builder.freshName('order'), chosen];
  builder.nodeWithOutputs('TopK', [order, builder.integers([pieceTokens - 2])], best, {
    axis: 1,
    largest: 0,
    sorted: 1,
  });
  const kept = builder.node('GatherElements', [all, chosen], { axis: 1 });
  const present = cast(builder, builder.node('Greater', [kept, builder.integers(0)]), 'int64');
  const length = builder.node('ReduceSum', [present, builder.integers([1])], { keepdims: 1 });
  const none = builder.node('Mul', [length, builder.integers(0)]);
  const start = builder.node('Add', [none, builder.integers(first)]);
  const ids = builder.node('Concat', [start, kept, none], { axis: 1 });
  const columns = builder.integers(Array.from({ length: pieceTokens }, (_, index) => index));
  const isLast = builder.node('Equal', [columns, builder.node('Add', [length, builder.integers(1)])]);
  return builder.node('Where', [isLast, builder.integers(last), ids]);
}

function emitSentence(
  builder: GraphBuilder,
  { hidden, mask, width, output }: { hidden: ValueName; mask: ValueName; width: number; output: string },
): void {
  const present = builder.node('Unsqueeze', [cast(builder, mask, 'float32'), builder.integers([2])]);
  const states = builder.node('Mul', [hidden, present]);
  const overTokens = (value: ValueName): ValueName =>
    builder.node('ReduceSum', [value, builder.integers([1])], { keepdims: 1 });
  const mean = builder.node('Div', [overTokens(states), overTokens(present)]);
  const norm = builder.node('ReduceL2', [mean], { axes: [-1], keepdims: 1 });
  const unit = builder.node('Div', [mean, norm]);
  const sentence = builder.node('Mul', [unit, builder.float(Math.sqrt(width))]);
  builder.node('Concat', [sentence, states], { axis: 1 }, output);
}

function floats(builder: GraphBuilder, name: string, count: number, at: (index: number) => number): ValueName {
  return builder.weight(name, 'float32', [1, count], () =>
    bytesOf(Float32Array.from({ length: count }, (_, index) => at(index))),
  );
}

function cast(builder: GraphBuilder, value: ValueName, type: 'int32' | 'int64' | 'float32'): ValueName {
  return builder.node('Cast', [value], { to: onnxDataTypeCode[type] });
}
