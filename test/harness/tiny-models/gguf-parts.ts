/* Takes GGUF files apart and puts them together again, to change what they hold. */

export interface GgufPart {
  name: string;
  /** Innermost first. */
  dimensions: number[];
  /** Number of the type in the file. */
  type: number;
  data: Buffer;
}

export interface GgufParts {
  /** Encoded entries by key: type, then value. */
  metadata: Map<string, Buffer>;
  tensors: GgufPart[];
}

const alignment = 32;
/** Bytes of the metadata types of a fixed size, by their number. */
const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

export function ggufInteger(value: number): Buffer {
  return Buffer.concat([uint32(4), uint32(value)]);
}

export function ggufText(value: string): Buffer {
  return Buffer.concat([uint32(8), text(value)]);
}

export function ggufTexts(values: readonly string[]): Buffer {
  return Buffer.concat([uint32(9), uint32(8), uint64(values.length), ...values.map(text)]);
}

export function ggufIntegers(values: readonly number[]): Buffer {
  return Buffer.concat([uint32(9), uint32(5), uint64(values.length), Buffer.from(Int32Array.from(values).buffer)]);
}

export function ggufFloats(values: readonly number[]): Buffer {
  return Buffer.concat([uint32(9), uint32(6), uint64(values.length), Buffer.from(Float32Array.from(values).buffer)]);
}

export function ggufFlag(value: boolean): Buffer {
  return Buffer.concat([uint32(7), Buffer.of(value ? 1 : 0)]);
}

/** Reads a valid file whose tensors are stored in order, without gaps but for the alignment. */
export function splitGguf(file: Buffer): GgufParts {
  let position = 8;
  const integer = () => file.readUInt32LE((position += 4) - 4);
  const count = () => Number(file.readBigUInt64LE((position += 8) - 8));
  const string = () => {
    const length = count();
    return file.toString('utf8', position, (position += length));
  };
  const skip = (type: number): void => {
    if (type === 8) return void string();
    if (type !== 9) return void (position += sizes[type] ?? 0);
    const inner = integer();
    for (let left = count(); left > 0; left--) skip(inner);
  };
  const tensorCount = count();
  const metadata = new Map<string, Buffer>();
  for (let left = count(); left > 0; left--) {
    const key = string();
    const start = position;
    skip(integer());
    metadata.set(key, file.subarray(start, position));
  }
  const infos = Array.from({ length: tensorCount }, () => {
    const name = string();
    const dimensions = Array.from({ length: integer() }, count);
    return { name, dimensions, type: integer(), offset: count() };
  });
  const start = padded(position);
  const tensors = infos.map(({ offset, ...info }, index) => {
    const end = infos[index + 1]?.offset ?? file.length - start;
    return { ...info, data: file.subarray(start + offset, start + end) };
  });
  return { metadata, tensors };
}

export function joinGguf({ metadata, tensors }: GgufParts): Buffer {
  const header = ggufHeader(
    metadata,
    tensors.map(({ data, ...tensor }) => ({ ...tensor, bytes: data.length })),
  );
  return Buffer.concat([header, ...tensors.map(({ data }) => filled(data))]);
}

/** Everything before the tensors' data. */
export function ggufHeader(
  metadata: ReadonlyMap<string, Buffer>,
  tensors: readonly (Omit<GgufPart, 'data'> & { bytes: number })[],
): Buffer {
  const head = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(metadata.size)];
  for (const [key, value] of metadata) head.push(text(key), value);
  let offset = 0;
  for (const { name, dimensions, type, bytes } of tensors) {
    head.push(text(name), uint32(dimensions.length), ...dimensions.map(uint64), uint32(type), uint64(offset));
    offset += padded(bytes);
  }
  return filled(Buffer.concat(head));
}

/** Splits a file into shards with the names and keys of ggml's tool. */
export function shardGguf(file: Buffer, stem: string, shards: number): Record<string, Buffer> {
  const { metadata, tensors } = splitGguf(file);
  const perShard = Math.ceil(tensors.length / shards);
  const number = (value: number) => String(value).padStart(5, '0');
  const files = Array.from({ length: shards }, (_, index) => {
    const keys = new Map(index === 0 ? metadata : []);
    keys.set('split.no', ggufInteger(index)).set('split.count', ggufInteger(shards));
    keys.set('split.tensors.count', ggufInteger(tensors.length));
    const own = tensors.slice(index * perShard, (index + 1) * perShard);
    const name = `${stem}-${number(index + 1)}-of-${number(shards)}.gguf`;
    return [name, joinGguf({ metadata: keys, tensors: own })] as const;
  });
  return Object.fromEntries(files);
}

function uint32(value: number): Buffer {
  return Buffer.from(Uint32Array.of(value).buffer);
}

function uint64(value: number): Buffer {
  return Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
}

function text(value: string): Buffer {
  return Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);
}

function padded(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

function filled(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);
}
