/** How the token vectors of a text are combined into one. */
export const poolings = ['mean', 'cls', 'last', 'max'] as const;
export type Pooling = (typeof poolings)[number];

/** Token vectors of one text within the output of a batch. */
export interface TokenVectors {
  data: Float32Array;
  /** Offset of the first token's vector. */
  offset: number;
  /** Tokens of the text, without trailing padding. */
  length: number;
  /** Values per vector. */
  size: number;
}

/** Returns one vector of `size` values. */
export function poolTokens(pooling: Pooling, { data, offset, length, size }: TokenVectors): Float32Array {
  const tokenAt = (index: number) => data.slice(offset + index * size, offset + (index + 1) * size);
  if (pooling === 'cls') return tokenAt(0);
  if (pooling === 'last') return tokenAt(length - 1);
  return pooling === 'mean' ? meanOf(data, offset, length, size) : maxOf(data, offset, length, size);
}

function meanOf(data: Float32Array, offset: number, length: number, size: number): Float32Array {
  const sums = new Float64Array(size);
  for (let token = 0, at = offset; token < length; token++, at += size) {
    for (let index = 0; index < size; index++) sums[index] = (sums[index] as number) + (data[at + index] as number);
  }
  return Float32Array.from(sums, (sum) => sum / length);
}

function maxOf(data: Float32Array, offset: number, length: number, size: number): Float32Array {
  const max = data.slice(offset, offset + size);
  for (let token = 1, at = offset + size; token < length; token++, at += size) {
    for (let index = 0; index < size; index++) {
      max[index] = Math.max(max[index] as number, data[at + index] as number);
    }
  }
  return max;
}

/**
 * Returns the vector to send: truncated to `dimensions` and normalized to length 1 where the model normalizes or
 * truncation changed the length. A zero vector is returned unchanged.
 */
export function shapeVector(
  vector: Float32Array,
  { dimensions, normalize }: { dimensions: number | null; normalize: boolean },
): Float32Array {
  const isCut = dimensions !== null && dimensions < vector.length;
  const truncated = isCut ? vector.slice(0, dimensions) : vector;
  return normalize || isCut ? normalized(truncated) : truncated;
}

function normalized(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const norm = Math.sqrt(squares);
  return norm > 0 ? vector.map((value) => value / norm) : vector;
}

/** Returns the cosine similarity: 1 for equal directions. */
export function cosine(left: Float32Array, right: Float32Array): number {
  let [product, leftSquares, rightSquares] = [0, 0, 0];
  for (let index = 0; index < left.length; index++) {
    const [a, b] = [left[index] as number, right[index] as number];
    product += a * b;
    leftSquares += a * a;
    rightSquares += b * b;
  }
  return product / Math.sqrt(leftSquares * rightSquares);
}
