import { productOf } from '#common/values';
import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { SafetensorsEntry } from '../safetensors/safetensors-header.js';

/* CTranslate2's `model.bin`: numbers are little-endian, and strings end with a zero that their length counts. */

/** A model of CTranslate2: what its `model.bin` lists. */
export interface Ctranslate2Model {
  /** The kind of model, such as `WhisperSpec`. */
  spec: string;
  revision: number;
  /** Tensors by name, with the types of safetensors. */
  tensors: ReadonlyMap<string, SafetensorsEntry>;
  /** Settings: whole numbers without dimensions. */
  settings: ReadonlyMap<string, number>;
  /** Names of tensors that are others. */
  aliases: ReadonlyMap<string, string>;
}

/** The only version with this layout; older ones keep their configuration elsewhere. */
const binaryVersion = 6;

/** By number: the type's name in safetensors and its bytes. */
const types = [
  { dtype: 'F32', bytes: 4 },
  { dtype: 'I8', bytes: 1 },
  { dtype: 'I16', bytes: 2 },
  { dtype: 'I32', bytes: 4 },
  { dtype: 'F16', bytes: 2 },
  { dtype: 'BF16', bytes: 2 },
] as const;

/** Bytes of the shortest tensor, and of the shortest alias: no file lists more than it has room for. */
const minTensorBytes = 9;
const minAliasBytes = 4;

/**
 * Reads the list of tensors, without their values; with `last`, up to that tensor only, because each lies behind the
 * values of the one before it. Throws `INVALID_MODEL` naming the fault.
 */
export async function readCtranslate2(file: ByteSource, last?: string): Promise<Ctranslate2Model> {
  const cursor = new Cursor(file);
  const version = await cursor.uint32();
  if (version !== binaryVersion) {
    throw cursor.refuse(`it is no model of CTranslate2 in version ${binaryVersion} of its format`);
  }
  const spec = await cursor.text();
  const revision = await cursor.uint32();
  const tensors = new Map<string, SafetensorsEntry>();
  const settings = new Map<string, number>();
  const aliases = new Map<string, string>();
  const model = { spec, revision, tensors, settings, aliases };
  for (let left = await cursor.count('tensors', minTensorBytes); left > 0; left--) {
    const entry = await cursor.tensor();
    if (tensors.has(entry.name) || settings.has(entry.name)) {
      throw cursor.refuse(`it has two tensors ${quoted(entry.name)}`);
    }
    const setting = entry.shape.length === 0 ? await cursor.setting(entry) : null;
    if (setting === null) tensors.set(entry.name, entry);
    else settings.set(entry.name, setting);
    if (entry.name === last) return model;
    cursor.skip(entry.bytes);
  }
  for (let left = await cursor.count('aliases', minAliasBytes); left > 0; left--) {
    const alias = await cursor.text();
    const name = await cursor.text();
    if (!tensors.has(name)) throw cursor.refuse(`its ${quoted(alias)} is ${quoted(name)}, which it does not have`);
    aliases.set(alias, name);
  }
  cursor.refuseRest();
  return model;
}

/** Bytes that are read at once: what is between the values of two tensors is much shorter. */
const pieceBytes = 1_024;

/** Reads one value after the other, none of which may lie beyond the end of the file. */
class Cursor {
  private position = 0;
  private piece = { start: 0, content: new Uint8Array() };

  constructor(private readonly file: ByteSource) {}

  async uint32(): Promise<number> {
    return (await this.view(4)).getUint32(0, true);
  }

  async text(): Promise<string> {
    const bytes = (await this.view(2)).getUint16(0, true);
    const { buffer, byteOffset } = await this.view(bytes);
    const content = new Uint8Array(buffer, byteOffset, bytes);
    if (bytes < 2 || content.at(-1) !== 0) throw this.refuse(`it has no name at byte ${this.position - bytes}`);
    return Buffer.from(content.subarray(0, -1)).toString('utf8');
  }

  /** A number of things of at least `bytes` bytes each. */
  async count(what: string, bytes: number): Promise<number> {
    const count = await this.uint32();
    if (count * bytes > this.file.bytes - this.position) {
      throw this.refuse(`it lists ${count} ${what}, more than it has room for`);
    }
    return count;
  }

  async tensor(): Promise<SafetensorsEntry> {
    const name = await this.text();
    const rank = (await this.view(1)).getUint8(0);
    const sizes = await this.view(4 * rank);
    const shape = Array.from({ length: rank }, (_, index) => sizes.getUint32(4 * index, true));
    const rest = await this.view(5);
    const [id, bytes] = [rest.getUint8(0), rest.getUint32(1, true)];
    const type = types[id];
    if (type === undefined) throw this.refuse(`its tensor ${quoted(name)} is of type ${id}, which is not known`);
    const expected = type.bytes * productOf(shape);
    if (expected !== bytes) {
      const sizesText = `[${shape.join(', ')}] of ${type.dtype} has ${expected}`;
      throw this.refuse(`its tensor ${quoted(name)} has ${bytes} bytes where ${sizesText}`);
    }
    this.requireRoom(bytes);
    return { name, dtype: type.dtype, shape, offset: this.position, bytes };
  }

  /** The value of a tensor without dimensions; null for a float. The cursor stays where it is. */
  async setting({ dtype, bytes }: SafetensorsEntry): Promise<number | null> {
    const view = await this.view(bytes);
    this.position -= bytes;
    if (dtype === 'I8') return view.getInt8(0);
    if (dtype === 'I16') return view.getInt16(0, true);
    return dtype === 'I32' ? view.getInt32(0, true) : null;
  }

  skip(bytes: number): void {
    this.position += bytes;
  }

  refuseRest(): void {
    const rest = this.file.bytes - this.position;
    if (rest > 0) throw this.refuse(`it has ${rest} bytes behind its list`);
  }

  refuse(reason: string): Error {
    return invalidFile(this.file.name, reason);
  }

  private async view(bytes: number): Promise<DataView> {
    this.requireRoom(bytes);
    const { start, content } = this.piece;
    if (this.position < start || this.position + bytes > start + content.length) {
      const length = Math.min(Math.max(bytes, pieceBytes), this.file.bytes - this.position);
      this.piece = { start: this.position, content: await this.file.read(this.position, length) };
    }
    const offset = this.position - this.piece.start;
    this.position += bytes;
    return new DataView(this.piece.content.buffer, this.piece.content.byteOffset + offset, bytes);
  }

  private requireRoom(bytes: number): void {
    if (bytes > this.file.bytes - this.position) {
      throw this.refuse(`it ends at byte ${this.file.bytes}, cut short`);
    }
  }
}
