import { productOf } from '#common/values';
import type { KeptBlocks, SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile } from '../invalid-file.js';
import { float4Levels, readBytes, readFloats, readInt8 } from './safetensors-values.js';
import type { StoredTensor } from './safetensors-weights.js';

/** A linear layer of codes, whose values are `code * scale` for the scale of the block that a code is in. */
export interface CodedLayer {
  /** `[outputs, inputs]`; of `float4` two per byte, the first in the lower half. */
  codes: StoredTensor;
  kind: 'float8' | 'float4' | 'int8';
  /** One number, one per row, or one per block of rows and columns. */
  scales: StoredTensor;
  /** A number beside the scales, which multiplies or divides all of them. */
  whole?: { stored: StoredTensor; divides: boolean };
  /** Codes of zero, as many as scales; `int8` only. */
  zeros?: StoredTensor;
  /** Rows and columns of a block, where scales have both. */
  block: readonly [rows: number, columns: number];
}

/** Inputs that share a scale with all others of their row. */
const rowBlock = 32;

/** A matrix of 8-bit or 4-bit floats, or of bytes, with scales. */
export class CodedTensor implements SourceTensor {
  readonly dimensions: readonly number[];
  readonly origin: { fileName: string; name: string };
  readonly keptBlocks?: KeptBlocks;
  private readonly inputs: number;
  /** Rows and columns that share a scale. */
  private readonly block: readonly [rows: number, columns: number];
  private scales: Promise<Float32Array> | null = null;
  private zeros: Promise<Float32Array | null> | null = null;

  constructor(private readonly layer: CodedLayer) {
    const { file, entry } = layer.codes;
    const [outputs = 0, columns = 0] = entry.shape;
    this.inputs = layer.kind === 'float4' ? 2 * columns : columns;
    this.dimensions = [this.inputs, outputs];
    this.origin = { fileName: file.name, name: entry.name };
    this.block = blockOf(layer, { inputs: this.inputs, outputs });
    const size = this.keptSize();
    if (size !== null) this.keptBlocks = { size, rows: (from, to) => this.blockRows(size, from, to) };
  }

  async rows(from: number, to: number): Promise<Float32Array> {
    const [codes, scales, zeros] = [await this.codes(from, to), await this.readScales(), await this.readZeros()];
    const { inputs } = this;
    const [blockRows, blockColumns] = this.block;
    const perRow = Math.ceil(inputs / blockColumns);
    for (let row = from; row < to; row++) {
      const first = Math.floor(row / blockRows) * perRow;
      for (let column = 0; column < inputs; column++) {
        const index = (row - from) * inputs + column;
        const place = first + Math.floor(column / blockColumns);
        codes[index] = ((codes[index] as number) - (zeros?.[place] ?? 0)) * (scales[place] as number);
      }
    }
    return codes;
  }

  /** Size of blocks of 8 bits that hold every value; null if none do. */
  private keptSize(): KeptBlocks['size'] | null {
    const { kind, zeros } = this.layer;
    const [, columns] = this.block;
    const size = kind === 'int8' ? rowBlock : columns;
    if (kind === 'float8' || zeros !== undefined || this.inputs % size !== 0) return null;
    return size === 16 || size === rowBlock ? size : null;
  }

  /** The levels of 4-bit floats are halves, so their codes are twice the level and scales half of the stored ones. */
  private async blockRows(size: number, from: number, to: number): Promise<Float32Array> {
    const [codes, scales] = [await this.codes(from, to), await this.readScales()];
    const { inputs } = this;
    const [blockRows, blockColumns] = this.block;
    const factor = this.layer.kind === 'float4' ? 2 : 1;
    const blocks = inputs / size;
    const length = inputs + blocks;
    const result = new Float32Array((to - from) * length);
    for (let row = 0; row < to - from; row++) {
      const first = Math.floor((from + row) / blockRows) * Math.ceil(inputs / blockColumns);
      for (let column = 0; column < inputs; column++) {
        result[row * length + column] = (codes[row * inputs + column] as number) * factor;
      }
      for (let block = 0; block < blocks; block++) {
        const scale = scales[first + Math.floor((block * size) / blockColumns)] as number;
        result[row * length + inputs + block] = scale / factor;
      }
    }
    return result;
  }

  private async codes(from: number, to: number): Promise<Float32Array> {
    const { kind, codes } = this.layer;
    const columns = codes.entry.shape[1] ?? 0;
    const [first, count] = [from * columns, (to - from) * columns];
    if (kind === 'float8') return readFloats(codes.file, codes.entry, first, count);
    if (kind === 'int8') return readInt8(codes.file, codes.entry, first, count);
    const bytes = await readBytes(codes.file, codes.entry, first, count);
    const values = new Float32Array(2 * count);
    for (let index = 0; index < count; index++) {
      const byte = bytes[index] as number;
      values[2 * index] = float4Levels[byte & 15] as number;
      values[2 * index + 1] = float4Levels[byte >> 4] as number;
    }
    return values;
  }

  private readScales(): Promise<Float32Array> {
    return (this.scales ??= loadScales(this.layer));
  }

  private readZeros(): Promise<Float32Array | null> {
    const { zeros } = this.layer;
    return (this.zeros ??= zeros ? readInt8(zeros.file, zeros.entry, 0, sizeOf(zeros)) : Promise.resolve(null));
  }
}

async function loadScales({ scales, whole }: CodedLayer): Promise<Float32Array> {
  const values = await readFloats(scales.file, scales.entry, 0, sizeOf(scales));
  if (!whole) return values;
  const [factor = 1] = await readFloats(whole.stored.file, whole.stored.entry, 0, 1);
  return values.map((scale) => (whole.divides ? scale / factor : scale * factor));
}

function sizeOf({ entry }: StoredTensor): number {
  return productOf(entry.shape);
}

/** Finds by the shape of scales what shares one, from the headers alone. */
function blockOf(
  { scales, zeros, whole, block, kind, codes }: CodedLayer,
  { inputs, outputs }: { inputs: number; outputs: number },
): readonly [number, number] {
  const { file, entry } = scales;
  const shape = `[${entry.shape.join(', ')}]`;
  const refuse = (name: string, what: string) => invalidFile(file.name, `${name} is ${what}`);
  if (codes.entry.shape.length !== 2) {
    throw invalidFile(codes.file.name, `${codes.entry.name} is [${codes.entry.shape.join(', ')}], not a matrix`);
  }
  if (zeros && zeros.entry.shape.join() !== entry.shape.join()) {
    throw refuse(zeros.entry.name, `[${zeros.entry.shape.join(', ')}], not ${shape}`);
  }
  if (whole && sizeOf(whole.stored) !== 1) throw refuse(whole.stored.entry.name, 'no single number');
  const [rows = 1, columns = 1, ...more] = entry.shape;
  const isWhole = sizeOf(scales) === 1;
  if (isWhole && kind !== 'float4') return [outputs, inputs];
  if (more.length === 0 && rows === outputs && columns === 1 && kind !== 'float4') return [1, inputs];
  const candidates: (readonly [number, number])[] =
    kind === 'float4' ? [[1, whole ? 16 : 32]] : kind === 'float8' ? [block, [1, 32]] : [];
  const found = candidates.find(
    ([height, width]) => rows === Math.ceil(outputs / height) && columns === Math.ceil(inputs / width),
  );
  if (more.length === 0 && found) return found;
  throw refuse(entry.name, `${shape}, which are no scales of ${outputs} rows of ${inputs} values`);
}
