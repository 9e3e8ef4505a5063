import {
  ggufFloats,
  ggufInteger,
  ggufIntegers,
  type GgufParts,
  ggufText,
  joinGguf,
} from '#test/tiny-models/gguf-parts';
import { ggufTexts, splitGguf } from '#test/tiny-models/gguf-parts';
import type { Format } from './formats.js';

/*
 * Changes of what a file says rather than of its bytes: files that parse, and lie. Random bytes rarely get as far as a
 * name or a size.
 */

type Change = (bytes: Buffer, random: () => number) => Buffer;

const changes: Partial<Record<Format, Change>> = {
  gguf: changeGguf,
  safetensors: changeTensorList,
  'hub-weights': changeTensorList,
  'hub-config': changeJson,
  'hub-index': changeJson,
  'hub-tokenizer': changeJson,
  'hub-tokenizer-config': changeJson,
  'lora-weights': changeTensorList,
  'lora-settings': changeJson,
};

export function changesStructure(format: Format): boolean {
  return changes[format] !== undefined;
}

/** Changes a few values of a valid file to hostile ones. */
export function changeStructure(format: Format, bytes: Buffer, random: () => number): Buffer {
  const change = changes[format];
  if (change === undefined) throw new Error(`nothing knows the structure of ${format}`);
  return change(bytes, random);
}

const hostile: readonly unknown[] = [
  0,
  -1,
  0.5,
  1,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  1e308,
  null,
  true,
  '',
  '1',
  '../../../etc/passwd',
  '\u001b[2J\n\u202e',
  'x'.repeat(100_000),
  [],
  {},
  [[[[]]]],
  { a: { b: { c: null } } },
  '__proto__',
  'constructor',
];

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** A copy: a later change of it must neither close a circle nor reach the next file. */
function hostileValue(random: () => number): unknown {
  return structuredClone(pick(hostile, random));
}

/** Replaces, removes, renames or repeats members anywhere in a JSON file. */
function changeJson(bytes: Buffer, random: () => number): Buffer {
  return Buffer.from(JSON.stringify(changedValue(JSON.parse(bytes.toString('utf8')), random)));
}

function changedValue(value: unknown, random: () => number): unknown {
  for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) {
    const places = containersOf(value);
    if (places.length === 0) return hostileValue(random);
    changeMember(pick(places, random), random);
  }
  return value;
}

type Container = Record<string, unknown>;

/** Objects and lists with members; the few large ones would hide the others, so each counts once. */
function containersOf(value: unknown): Container[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(containersOf);
  return Object.keys(value).length > 0 ? [value as Container, ...inner] : inner;
}

function changeMember(container: Container, random: () => number): void {
  const name = pick(Object.keys(container), random);
  const kind = random();
  if (kind < 0.6) container[name] = hostileValue(random);
  else if (kind < 0.75) delete container[name];
  else if (kind < 0.9) container[name] = container[pick(Object.keys(container), random)];
  else container[`${name}${String(pick(hostile, random)).slice(0, 1_000)}`] = container[name];
}

/** The same in the list of tensors of a safetensors file. */
function changeTensorList(bytes: Buffer, random: () => number): Buffer {
  const start = 8 + Number(bytes.readBigUInt64LE());
  const list = changeJson(bytes.subarray(8, start), random);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(list.length));
  return Buffer.concat([length, list, bytes.subarray(start)]);
}

const sizes = [0, 1, 3, 2 ** 31, 2 ** 32, 2 ** 53 - 1];
const metadataValues = [
  ...[0, 1, 7, 2 ** 31, 2 ** 32 - 1].map(ggufInteger),
  ...['', '{{', '../..', 'x'.repeat(10_000)].map(ggufText),
  ggufTexts([]),
  ggufTexts(['a', 'a', '']),
  ggufIntegers([]),
  ggufIntegers([-1, 2 ** 31 - 1]),
  ggufFloats([]),
  ggufFloats([NaN, Infinity]),
];

/** Replaces, removes or swaps entries of the metadata, or changes what is said of a tensor. */
function changeGguf(bytes: Buffer, random: () => number): Buffer {
  const parts = splitGguf(bytes);
  for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) {
    if (random() < 0.6) changeMetadata(parts, random);
    else changeTensor(parts, random);
  }
  return joinGguf(parts);
}

function changeMetadata({ metadata }: GgufParts, random: () => number): void {
  const key = pick([...metadata.keys()], random);
  const kind = random();
  if (kind < 0.7) metadata.set(key, pick(metadataValues, random));
  else if (kind < 0.85) metadata.delete(key);
  else metadata.set(key, metadata.get(pick([...metadata.keys()], random)) ?? ggufInteger(0));
}

/** Tensor types of the format have numbers up to 39. */
const maxType = 42;

function changeTensor({ tensors }: GgufParts, random: () => number): void {
  const tensor = pick(tensors, random);
  const kind = random();
  if (kind < 0.3) tensor.dimensions[Math.floor(random() * tensor.dimensions.length)] = pick(sizes, random);
  else if (kind < 0.5) tensor.type = Math.floor(random() * maxType);
  else if (kind < 0.7) tensor.name = pick(['', '../x', 'token_embd.weight', 'blk.-1.attn_q.weight', '\n'], random);
  else if (kind < 0.85) tensors.splice(tensors.indexOf(tensor), 1);
  else tensor.data = tensor.data.subarray(0, Math.floor(random() * tensor.data.length));
}
