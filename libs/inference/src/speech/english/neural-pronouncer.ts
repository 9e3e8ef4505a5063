import { readFile } from 'node:fs/promises';
import { productOf } from '#common/values';
import { PlatformError } from '#common';

interface StoredMatrix {
  shape: number[];
  /** Base64 of little-endian floats. */
  data: string;
}

interface Cell {
  inputWeights: Float32Array;
  stateWeights: Float32Array;
  inputBias: Float32Array;
  stateBias: Float32Array;
}

/** Longest word passed to the model. It was trained on ordinary words and repeats itself on longer ones. */
const longestWord = 24;
const maxPhones = 28;

const [startToken, endToken] = [2, 3];

/**
 * Predicts the phones of words that are not in the dictionary, with the recurrent encoder and decoder of g2p_en. The
 * TinyTTS package includes the weights. Small enough to run without a graph runtime.
 */
export class NeuralPronouncer {
  private constructor(
    private readonly graphemes: ReadonlyMap<string, number>,
    private readonly phonemes: readonly string[],
    private readonly size: number,
    private readonly embeddings: { letters: Float32Array; phones: Float32Array },
    private readonly encoder: Cell,
    private readonly decoder: Cell,
    private readonly output: { weights: Float32Array; bias: Float32Array },
  ) {}

  /** Rejects with `INVALID_MODEL` for a file of another layout. */
  static async load(path: string): Promise<NeuralPronouncer> {
    try {
      const stored = JSON.parse(await readFile(path, 'utf8')) as Record<string, StoredMatrix | string[]>;
      return NeuralPronouncer.read(stored);
    } catch (error) {
      throw new PlatformError('INVALID_MODEL', 'The pronunciation model cannot be read.', null, { cause: error });
    }
  }

  private static read(stored: Record<string, StoredMatrix | string[]>): NeuralPronouncer {
    const matrix = (name: string): Float32Array => {
      const { shape, data } = stored[name] as StoredMatrix;
      const bytes = Buffer.from(data, 'base64');
      const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
      if (values.length !== productOf(shape)) throw new Error(`${name} is cut off`);
      return values;
    };
    const cell = (side: string): Cell => ({
      inputWeights: matrix(`${side}_w_ih`),
      stateWeights: matrix(`${side}_w_hh`),
      inputBias: matrix(`${side}_b_ih`),
      stateBias: matrix(`${side}_b_hh`),
    });
    const size = (stored.enc_emb as StoredMatrix).shape[1] ?? 0;
    const graphemes = new Map((stored.graphemes as string[]).map((letter, index) => [letter, index]));
    const embeddings = { letters: matrix('enc_emb'), phones: matrix('dec_emb') };
    const output = { weights: matrix('fc_w'), bias: matrix('fc_b') };
    return new NeuralPronouncer(
      graphemes,
      stored.phonemes as string[],
      size,
      embeddings,
      cell('enc'),
      cell('dec'),
      output,
    );
  }

  /** Returns null without a usable result: the word is too long, or its end is not found. */
  guess(word: string): string[] | null {
    if (word.length === 0 || word.length > longestWord) return null;
    let state: Float32Array = new Float32Array(this.size);
    for (const letter of [...word.toLowerCase(), '</s>']) {
      const index = this.graphemes.get(letter) ?? this.graphemes.get('<unk>') ?? 0;
      state = this.advance(this.encoder, rowOf(this.embeddings.letters, index, this.size), state);
    }
    const phones: string[] = [];
    for (let token = startToken; phones.length <= maxPhones; phones.push(this.phonemes[token] ?? '')) {
      state = this.advance(this.decoder, rowOf(this.embeddings.phones, token, this.size), state);
      token = this.likeliest(state);
      if (token === endToken) return phones.length > 0 ? phones : null;
    }
    return null;
  }

  /** Computes one step of a gated recurrent unit; matrix rows are the reset, update and new gates. */
  private advance(cell: Cell, input: Float32Array, state: Float32Array): Float32Array {
    const { size } = this;
    const fromInput = affine(cell.inputWeights, cell.inputBias, input);
    const fromState = affine(cell.stateWeights, cell.stateBias, state);
    const next = new Float32Array(size);
    for (let index = 0; index < size; index += 1) {
      const reset = sigmoid((fromInput[index] ?? 0) + (fromState[index] ?? 0));
      const update = sigmoid((fromInput[size + index] ?? 0) + (fromState[size + index] ?? 0));
      const fresh = Math.tanh((fromInput[2 * size + index] ?? 0) + reset * (fromState[2 * size + index] ?? 0));
      next[index] = (1 - update) * fresh + update * (state[index] ?? 0);
    }
    return next;
  }

  private likeliest(state: Float32Array): number {
    const scores = affine(this.output.weights, this.output.bias, state);
    let best = 0;
    for (let index = 1; index < scores.length; index += 1) if ((scores[index] ?? 0) > (scores[best] ?? 0)) best = index;
    return best;
  }
}

function rowOf(matrix: Float32Array, row: number, size: number): Float32Array {
  return matrix.subarray(row * size, (row + 1) * size);
}

function affine(weights: Float32Array, bias: Float32Array, input: Float32Array): Float32Array {
  const result = new Float32Array(bias.length);
  for (let row = 0, position = 0; row < result.length; row += 1) {
    let sum = bias[row] ?? 0;
    for (let column = 0; column < input.length; column += 1, position += 1) {
      sum += (weights[position] ?? 0) * (input[column] ?? 0);
    }
    result[row] = sum;
  }
  return result;
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
