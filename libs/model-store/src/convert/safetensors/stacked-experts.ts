import type { KeptBlocks, SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile } from '../invalid-file.js';
import { float4Levels, readBytes, readFloats } from './safetensors-values.js';
import type { StoredTensor } from './safetensors-weights.js';

/*
 * Experts as gpt-oss stores them: the matrices of all experts in one tensor, with the outputs of two matrices taking
 * turns.
 */

/** Which outputs of a stored matrix are meant: all, every second one, or some from `first` on. */
export interface Turn {
  first: number;
  step: 1 | 2;
  /** Outputs that are meant; absent: as many as there are. */
  rows?: number;
}

/** Rows of floats, `[experts, outputs]`. */
export class TurnVectors implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };

  constructor(
    private readonly stored: StoredTensor,
    private readonly turn: Turn,
  ) {
    const [experts = 0, outputs = 0] = stored.entry.shape;
    this.dimensions = [outputs / turn.step, experts];
    this.origin = { fileName: stored.file.name, name: stored.entry.name };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const { first, step } = this.turn;
    const columns = (this.dimensions[0] ?? 0) * step;
    const { file, entry } = this.stored;
    const values = await readFloats(file, entry, from * columns, (to - from) * columns);
    return values.filter((_, index) => index % step === first);
  }
}

/** Floats as `[experts, inputs, outputs]`, read as rows of inputs. */
export class TransposedExperts implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };
  /** Rows are read in order, and only one expert is in memory. */
  private last: { expert: number; values: Promise<Float32Array> } | null = null;

  constructor(
    private readonly stored: StoredTensor,
    private readonly turn: Turn,
  ) {
    const [experts = 0, inputs = 0, outputs = 0] = stored.entry.shape;
    this.dimensions = [inputs, turn.rows ?? outputs / turn.step, experts];
    this.origin = { fileName: stored.file.name, name: stored.entry.name };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const { first, step } = this.turn;
    const [inputs = 0, rows = 0] = this.dimensions;
    const outputs = this.stored.entry.shape[2] ?? 0;
    const result = new Float32Array((to - from) * inputs);
    for (let row = from; row < to; row++) {
      const values = await this.expert(Math.floor(row / rows));
      const output = (row % rows) * step + first;
      for (let input = 0; input < inputs; input++) {
        result[(row - from) * inputs + input] = values[input * outputs + output] as number;
      }
    }
    return result;
  }

  private expert(expert: number): Promise<Float32Array> {
    const { file, entry } = this.stored;
    const size = (entry.shape[1] ?? 0) * (entry.shape[2] ?? 0);
    if (this.last?.expert !== expert) {
      this.last = { expert, values: readFloats(file, entry, expert * size, size) };
    }
    return this.last.values;
  }
}

const blockValues = 32;
const blockBytes = 16;
/** Exponent of the scale that the byte 0 stands for. */
const lowestExponent = -127;
const noNumber = 255;

/**
 * MXFP4: blocks of 32 codes of four bits, two per byte, as `[experts, outputs, inputs / 32, 16]`, and the exponent of a
 * power of two for each block.
 */
export class Mxfp4Experts implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };
  readonly keptBlocks: KeptBlocks;

  constructor(
    private readonly blocks: StoredTensor,
    private readonly scales: StoredTensor,
    private readonly turn: Turn,
  ) {
    const { file, entry } = blocks;
    const [experts = 0, outputs = 0, perRow = 0, bytes] = entry.shape;
    if (bytes !== blockBytes || entry.dtype !== 'U8' || scales.entry.dtype !== 'U8') {
      throw invalidFile(
        file.name,
        `${entry.name} is [${entry.shape.join(', ')}] of ${entry.dtype}, not blocks of MXFP4`,
      );
    }
    if (scales.entry.shape.join() !== [experts, outputs, perRow].join()) {
      throw invalidFile(
        scales.file.name,
        `${scales.entry.name} is [${scales.entry.shape.join(', ')}], not one per block`,
      );
    }
    this.dimensions = [perRow * blockValues, outputs / turn.step, experts];
    this.origin = { fileName: file.name, name: entry.name };
    this.keptBlocks = { size: blockValues, rows: (from, to) => this.blockRows(from, to) };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const { levels, scales } = await this.read(from, to);
    return levels.map((level, index) => level * (scales[Math.floor(index / blockValues)] as number));
  }

  /** Levels are halves, so the codes are twice the level. */
  private async blockRows(from: number, to: number): Promise<Float32Array> {
    const { levels, scales } = await this.read(from, to);
    const [inputs = 0] = this.dimensions;
    const perRow = inputs / blockValues;
    const length = inputs + perRow;
    const result = new Float32Array((to - from) * length);
    levels.forEach((level, index) => {
      result[Math.floor(index / inputs) * length + (index % inputs)] = 2 * level;
    });
    scales.forEach((scale, index) => {
      result[Math.floor(index / perRow) * length + inputs + (index % perRow)] = scale / 2;
    });
    return result;
  }

  private async read(from: number, to: number): Promise<{ levels: Float32Array; scales: Float32Array }> {
    const { first, step } = this.turn;
    const [inputs = 0] = this.dimensions;
    const perRow = inputs / blockValues;
    const stored = { first: from * step * perRow, count: (to - from) * step * perRow };
    const codes = await readBytes(
      this.blocks.file,
      this.blocks.entry,
      stored.first * blockBytes,
      stored.count * blockBytes,
    );
    const exponents = await readBytes(this.scales.file, this.scales.entry, stored.first, stored.count);
    this.requireNumbers(exponents, stored.first);
    const levels = new Float32Array((to - from) * inputs);
    const scales = new Float32Array((to - from) * perRow);
    for (let row = 0; row < to - from; row++) {
      for (let block = 0; block < perRow; block++) {
        const source = (row * step + first) * perRow + block;
        scales[row * perRow + block] = 2 ** ((exponents[source] as number) + lowestExponent);
        const target = row * inputs + block * blockValues;
        for (let index = 0; index < blockBytes; index++) {
          const byte = codes[source * blockBytes + index] as number;
          levels[target + 2 * index] = float4Levels[byte & 15] as number;
          levels[target + 2 * index + 1] = float4Levels[byte >> 4] as number;
        }
      }
    }
    return { levels, scales };
  }

  private requireNumbers(exponents: Uint8Array, first: number): void {
    const index = exponents.indexOf(noNumber);
    if (index < 0) return;
    const { file, entry } = this.scales;
    throw invalidFile(
      file.name,
      `scale ${first + index} of ${entry.name} at byte ${entry.offset + first + index} is no number`,
    );
  }
}
