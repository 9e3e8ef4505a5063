import { invalidFile } from '../invalid-file.js';

/** A setting in the terms of GGUF. */
export type ParameterValue = number | string | boolean | boolean[] | number[];

/** A `config.json`, or an object in it, with checked values. Every getter throws `INVALID_MODEL` naming the member. */
export class HubConfig {
  constructor(
    readonly values: Readonly<Record<string, unknown>>,
    private readonly path = '',
    /** The file that errors name. */
    readonly fileName = 'config.json',
  ) {}

  /** The same object with other values. */
  with(values: Readonly<Record<string, unknown>>): HubConfig {
    return new HubConfig(values, this.path, this.fileName);
  }

  /** A flag per layer, whether it has the window; null where the file does not list the kinds of its layers. */
  get listedWindows(): boolean[] | null {
    const { layer_types: types } = this.values;
    return Array.isArray(types) ? types.map((type) => type === 'sliding_attention') : null;
  }

  has(name: string): boolean {
    return this.values[name] !== undefined && this.values[name] !== null;
  }

  number(name: string, fallback?: number): number {
    const value = this.has(name) ? this.values[name] : fallback;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw this.wrong(name, value, 'a number');
  }

  /** A whole number from 1. */
  size(name: string, fallback?: number): number {
    const value = this.number(name, fallback);
    if (Number.isSafeInteger(value) && value >= 1 && value < 2 ** 31) return value;
    throw this.wrong(name, value, 'a size');
  }

  text(name: string, fallback?: string): string {
    const value = this.has(name) ? this.values[name] : fallback;
    if (typeof value === 'string') return value;
    throw this.wrong(name, value, 'a text');
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.has(name) ? this.values[name] : fallback;
    if (typeof value === 'boolean') return value;
    throw this.wrong(name, value, 'true or false');
  }

  numbers(name: string): number[] {
    const value = this.values[name];
    if (Array.isArray(value) && value.every((each) => Number.isFinite(each))) return value as number[];
    throw this.wrong(name, value, 'a list of numbers');
  }

  /** A member that is an object; null without it. */
  object(name: string): HubConfig | null {
    if (!this.has(name)) return null;
    const value = this.values[name];
    if (typeof value !== 'object' || Array.isArray(value)) throw this.wrong(name, value, 'an object');
    return new HubConfig(value as Record<string, unknown>, `${this.path}${name}.`, this.fileName);
  }

  private wrong(name: string, value: unknown, expected: string): Error {
    const found = value === undefined || value === null ? 'missing' : JSON.stringify(value).slice(0, 60);
    return invalidFile(this.fileName, `its ${this.path}${name} is ${found}, not ${expected}`);
  }
}
