import { invalidFile } from '../invalid-file.js';
import type { Hyperparameters } from '../decoder/decoder-source.js';
import type { GgufValue } from './gguf-types.js';

/** Typed access to a GGUF file's metadata. Missing entries and wrong types fail with `INVALID_MODEL`. */
export class GgufMetadata implements Hyperparameters {
  constructor(
    readonly fileName: string,
    private readonly values: Map<string, GgufValue>,
    /** Stands before the keys of all methods. */
    private readonly prefix = '',
  ) {}

  /** Returns the entries whose keys begin with `prefix`, by the rest of their keys. */
  under(prefix: string): GgufMetadata {
    return new GgufMetadata(this.fileName, this.values, prefix);
  }

  /** A list of equal numbers, one per layer, counts as one number. */
  number(key: string, fallback?: number): number {
    const found = this.get(key) ?? fallback;
    const isUniform = Array.isArray(found) && found.length > 0 && found.every((item) => item === found[0]);
    const value = isUniform ? found[0] : found;
    if (typeof value === 'number') return value;
    if (typeof value === 'bigint') return Number(value);
    throw this.unusable(key, found);
  }

  /** Reads a `number`, for sizes and counts. */
  size(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (Number.isInteger(value) && value > 0 && value < 2 ** 31) return value;
    throw this.unusable(key, value);
  }

  /** Returns null if the entry is missing. */
  optionalNumber(key: string): number | null {
    return this.has(key) ? this.number(key) : null;
  }

  text(key: string, fallback?: string): string {
    const value = this.get(key) ?? fallback;
    if (typeof value === 'string') return value;
    throw this.unusable(key, value);
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.get(key) ?? fallback;
    if (typeof value === 'boolean') return value;
    throw this.unusable(key, value);
  }

  texts(key: string): string[] {
    return this.list(key, (value): value is string => typeof value === 'string');
  }

  /** Returns null if the list is missing. */
  optionalNumbers(key: string): number[] | null {
    return this.has(key) ? this.list(key, (value): value is number => typeof value === 'number') : null;
  }

  optionalFlags(key: string): boolean[] | null {
    const value = this.get(key);
    return Array.isArray(value) && value.every((item) => typeof item === 'boolean') ? value : null;
  }

  listedNumbers(key: string): number[] | null {
    const value = this.get(key);
    if (!Array.isArray(value)) return null;
    const isNumber = (item: GgufValue): item is number | bigint => typeof item === 'number' || typeof item === 'bigint';
    return value.every(isNumber) ? value.map(Number) : null;
  }

  has(key: string): boolean {
    return this.values.has(this.prefix + key);
  }

  private get(key: string): GgufValue | undefined {
    return this.values.get(this.prefix + key);
  }

  private list<Item extends GgufValue>(key: string, isItem: (value: GgufValue) => value is Item): Item[] {
    const value = this.get(key);
    if (!Array.isArray(value) || !value.every(isItem)) throw this.unusable(key, value);
    return value;
  }

  private unusable(key: string, value: GgufValue | undefined): Error {
    const found = Array.isArray(value) ? 'a list' : String(value).slice(0, 80);
    return invalidFile(
      this.fileName,
      `its metadata \`${this.prefix}${key}\` is ${value === undefined ? 'missing' : `unusable: ${found}`}`,
    );
  }
}
