import { productOf } from '#common/values';
import { invalidFile, quoted } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import { architectures, findArchitecture } from './architectures.js';
import { type DecoderPurpose, tensorsBehindLayers } from './decoder-purpose.js';
import type { DecoderShape } from './decoder-shape.js';
import type { DecoderSource, SourceTensor } from './decoder-source.js';
import { groupedRows } from './grouped-rows.js';
import { halfSplitRows } from './half-split-rows.js';
import type { LinearFormat } from './linear-layer.js';
import type { PackedLayer } from './packed-layer.js';
import { readDecoderShape } from './read-shape.js';
import { TensorSlices } from './tensor-slices.js';
import type { WeightSource } from './weight-source.js';

/** Tensors that may be unused: rotary frequencies that follow from the metadata, and those that are read separately. */
const unneededTensors = /^rope_(?:freqs|factors_long|factors_short)\.weight$|\.attn_rot_embd(?:\.weight)?$/;
/** Files have these of layers that use those of another layer too. */
const keysOrValues = /^blk\.(\d+)\.attn_(?:k|v|k_norm)\.weight$/;
/** Parts of an indexer, which is not computed where it would choose every position, or in layers that reuse a choice. */
const indexerTensors = /^blk\.\d+\.indexer\.(?:attn_q_b|attn_k|k_norm|proj)\.(?:weight|bias)$/;
const maxNamed = 5;
/** Weights of queries and keys, whose rows or values follow the order of rotary pairs. */
const rotated = /\.(?:query|key)(?:_norm)?(?:\.bias)?$/;

/** A decoder checkpoint as its table entry describes it: the shape of its graph and its weights. */
export class SourceDecoder implements WeightSource {
  private constructor(
    private readonly source: DecoderSource,
    readonly architecture: Architecture,
    readonly shape: DecoderShape,
    private readonly slices: TensorSlices,
  ) {}

  /**
   * Reads no tensor. Fails with `INVALID_MODEL` for an architecture or settings that are not supported, and for tensors
   * that are missing, of another size, or unused. `contextLength` shortens the file's own, or stretches it where its rotation
   * allows that. A model for another purpose than `text` may lack an output layer.
   */
  static open(source: DecoderSource, contextLength?: number, purpose: DecoderPurpose = 'text'): SourceDecoder {
    const { fileName, tensors } = source;
    const architecture = findArchitecture(source.architecture);
    if (!architecture) {
      const known = Object.keys(architectures).join(', ');
      throw invalidFile(fileName, `its architecture is ${source.architecture}; ${known} are converted`);
    }
    const shape = readDecoderShape(source, architecture, { contextLength, purpose });
    const slices = new TensorSlices(shape, architecture, (name) => tensors.has(name));
    checkTensors(source, slices, { shape, architecture, purpose });
    return new SourceDecoder(source, architecture, shape, slices);
  }

  rows(name: string, from: number, to: number): Promise<Float32Array> {
    const { tensor, columns } = this.slices.find(name);
    return this.orderedRows(name, this.tensor(tensor), columns, [from, to]);
  }

  blockRows(name: string, from: number, to: number): Promise<Float32Array> {
    const { tensor, columns } = this.slices.find(name);
    const { offsetBlocks, keptBlocks } = this.tensor(tensor);
    const blocks = offsetBlocks ?? keptBlocks;
    if (!blocks) throw new Error(`${name} has no blocks to keep.`);
    const numbers = offsetBlocks ? 2 : 1;
    return this.orderedRows(name, blocks, columns + (numbers * columns) / blocks.size, [from, to]);
  }

  /** Returns the format that holds every value of a weight that the source has in codes; null for another. */
  keptFormat(name: string): LinearFormat | null {
    const { keptBlocks } = this.tensor(this.slices.find(name).tensor);
    return keptBlocks ? { kind: 'blocks', bits: 8, blockSize: keptBlocks.size, keepsCodes: true } : null;
  }

  private async orderedRows(
    name: string,
    source: Pick<SourceTensor, 'rows'>,
    columns: number,
    [from, to]: readonly [number, number],
  ): Promise<Float32Array> {
    const slice = this.slices.find(name);
    const read = (first: number, last: number) => source.rows(slice.from + first, slice.from + last);
    if (slice.groups) return groupedRows(slice.groups, { columns, read }, [from, to]);
    if (!this.isAdjacent(name)) return read(from, to);
    return halfSplitRows({ columns, ...this.pairs, read }, from, to);
  }

  private get pairs(): { headSize: number; rotated: number } {
    const { headSize, rotary } = this.shape;
    return { headSize, rotated: this.architecture.pairsOfWholeHeads ? headSize : rotary.dimensions };
  }

  async vector(name: string): Promise<Float32Array> {
    const { tensor, from, rows, columns } = this.slices.find(name);
    const stored = this.tensor(tensor);
    const whole = await stored.rows(0, rows === 1 ? rowsOf(stored) : rows);
    const values = rows === 1 ? whole.slice(from, from + columns) : whole;
    if (!this.isAdjacent(name)) return values;
    const read = (first: number, last: number) => Promise.resolve(values.subarray(first, last));
    return halfSplitRows({ columns: 1, ...this.pairs, read }, 0, values.length);
  }

  /** Returns the name of the tensor of the source that a weight is part of. */
  tensorOf(name: string): string {
    return this.slices.find(name).tensor;
  }

  packed(name: string): PackedLayer | null {
    const { tensor, from, groups } = this.slices.find(name);
    const { packed } = this.tensor(tensor);
    return packed && !groups && !this.isAdjacent(name) ? { ...packed, firstOutput: from } : null;
  }

  private isAdjacent(name: string): boolean {
    return (this.source.rotaryPairs ?? this.architecture.rotaryPairs) === 'adjacent' && rotated.test(name);
  }

  private tensor(name: string): SourceTensor {
    const tensor = this.source.tensors.get(name);
    if (!tensor) throw invalidFile(this.source.fileName, `it has no tensor ${name}`);
    return tensor;
  }
}

/** GGUF files have some vectors of Mamba layers as matrices. */
function isFolded(tensor: SourceTensor, dimensions: readonly number[]): boolean {
  return dimensions.length === 1 && (tensor.dimensions[0] ?? 0) * rowsOf(tensor) === dimensions[0];
}

function rowsOf({ dimensions }: SourceTensor): number {
  return productOf(dimensions.slice(1));
}

/** Checks before anything is written that no tensor is missing, of another size, or unused. */
function checkTensors(
  { fileName, tensors, parameters }: DecoderSource,
  slices: TensorSlices,
  { shape, architecture, purpose }: { shape: DecoderShape; architecture: Architecture; purpose: DecoderPurpose },
): void {
  const unread = new Set(tensors.keys());
  for (const [name, dimensions] of slices.expectedTensors()) {
    const tensor = tensors.get(name);
    if (!tensor) throw invalidFile(fileName, `it has no tensor ${name}`);
    unread.delete(name);
    if (tensor.dimensions.join() === dimensions.join() || isFolded(tensor, dimensions)) continue;
    const sizes = `its tensor ${tensor.origin?.name ?? name} is ${tensor.dimensions.join(' × ')}, not ${dimensions.join(' × ')}`;
    throw invalidFile(tensor.origin?.fileName ?? fileName, sizes);
  }
  const isBehindLayers = (name: string) => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? 0) >= shape.layers;
  const guessesAhead = parameters.number('nextn_predict_layers', 0) > 0;
  const isShared = (name: string) => {
    const [, layer] = keysOrValues.exec(name) ?? [];
    return layer !== undefined && (shape.sharedKeyValues?.[Number(layer)] ?? null) !== null;
  };
  const isUnneeded = (name: string): boolean =>
    unneededTensors.test(name) ||
    isShared(name) ||
    (architecture.indexer !== undefined && indexerTensors.test(name)) ||
    (guessesAhead && isBehindLayers(name)) ||
    (purpose !== 'text' && tensorsBehindLayers.test(name));
  const unused = [...unread].filter((name) => !isUnneeded(name));
  if (unused.length === 0) return;
  // For example a gate of experts that the architecture has not: the model would run with wrong results.
  const more = unused.length > maxNamed ? ` and ${unused.length - maxNamed} more` : '';
  const names = unused.slice(0, maxNamed).map(quoted).join(', ');
  throw invalidFile(fileName, `it has tensors that nothing here computes with: ${names}${more}`);
}
