import { bytesOf, type GraphBuilder, type ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';

/** Adds how far each token is behind each other one, 64-bit `[sequence, sequence]`. */
export function emitDistances(builder: GraphBuilder, ids: ValueName): ValueName {
  const size = builder.node('Gather', [builder.node('Shape', [ids]), builder.integers(1)]);
  const positions = builder.node('Range', [builder.integers(0), size, builder.integers(1)]);
  const column = builder.node('Unsqueeze', [positions, builder.integers([1])]);
  return builder.node('Sub', [builder.node('Unsqueeze', [positions, builder.integers([0])]), column]);
}

/**
 * Adds the bias of attention with linear biases, to both sides: the distance times the slope of the head,
 * `[1, heads, sequence, sequence]`. All layers share it.
 */
export function emitLinearBias(builder: GraphBuilder, ids: ValueName, heads: number): ValueName {
  const distances = builder.node('Abs', [emitDistances(builder, ids)]);
  const floats = builder.node('Cast', [distances], { to: onnxDataTypeCode.float32 });
  const slopes = builder.weight('alibi.slopes', 'float32', [1, heads, 1, 1], () =>
    bytesOf(Float32Array.from(alibiSlopes(heads), (slope) => -slope)),
  );
  return builder.node('Mul', [floats, slopes]);
}

/**
 * Returns the slopes of the ALiBi paper: a geometric series for a power of two. Other numbers of heads have those of the
 * power below, then every second one of the power above.
 */
export function alibiSlopes(heads: number): number[] {
  const below = 2 ** Math.floor(Math.log2(heads));
  const series = (count: number): number[] =>
    Array.from({ length: count }, (_, head) => 2 ** ((-8 * (head + 1)) / count));
  const between = series(2 * below).filter((_, head) => head % 2 === 0);
  return [...series(below), ...between].slice(0, heads);
}
