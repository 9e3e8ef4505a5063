import type { ByteSource } from '../byte-source.js';
import { invalidFile } from '../invalid-file.js';
import { GgufMetadata } from './gguf-metadata.js';
import { readGgufHeader } from './gguf-reader.js';
import { parseShardName } from './shard-names.js';
import type { GgufHeader, GgufTensor } from './gguf-types.js';

/** A GGUF file, or the shards of one as if they were joined. */
export interface OpenedGguf {
  file: ByteSource;
  header: GgufHeader;
}

/**
 * Reads the header of a file or of all shards of a model, in any order. The metadata is that of the first shard. Fails
 * with `INVALID_MODEL` that names the shard if one is missing or belongs to another model.
 */
export async function openGguf(files: readonly ByteSource[]): Promise<OpenedGguf> {
  const sorted = [...files].sort((one, other) => (one.name < other.name ? -1 : 1));
  const headers: GgufHeader[] = [];
  for (const file of sorted) headers.push(await readGgufHeader(file));
  const [file, header] = [sorted[0], headers[0]];
  if (!file || !header) throw new Error('A model needs a file.');
  sorted.forEach((shard, index) => checkShard(shard, headers[index] as GgufHeader, { index, count: sorted.length }));
  if (sorted.length === 1) return { file, header };
  const joined = new JoinedFiles(sorted);
  const tensors = new Map<string, GgufTensor>();
  headers.forEach((shard, index) => {
    for (const tensor of shard.tensors.values()) {
      if (tensors.has(tensor.name)) throw mixed(sorted[index] as ByteSource, `it repeats the tensor ${tensor.name}`);
      tensors.set(tensor.name, { ...tensor, offset: (joined.starts[index] as number) + tensor.offset });
    }
  });
  const expected = new GgufMetadata(file.name, header.metadata).optionalNumber('split.tensors.count');
  if (expected !== null && expected !== tensors.size) {
    throw mixed(file, `its model has ${expected} tensors, and the ${sorted.length} shards have ${tensors.size}`);
  }
  return { file: joined, header: { metadata: header.metadata, tensors } };
}

function checkShard(file: ByteSource, { metadata }: GgufHeader, expected: { index: number; count: number }): void {
  const values = new GgufMetadata(file.name, metadata);
  const count = values.optionalNumber('split.count') ?? 0;
  // A file that was split into one is whole, whatever its name.
  if (count <= 1 && expected.count === 1) return;
  if (count !== expected.count) {
    const found = `${expected.count} ${expected.count === 1 ? 'is' : 'are'} here`;
    const name = parseShardName(file.name);
    const missing = name && count > expected.count ? `; ${name.nameOf(expected.count + 1, count)} may be missing` : '';
    throw mixed(file, `it is one of ${count} shards, and ${found}${missing}`);
  }
  const number = values.number('split.no');
  if (number === expected.index) return;
  throw mixed(file, `it is shard ${number + 1} of ${count} by its metadata, not ${expected.index + 1} as by its name`);
}

function mixed(file: ByteSource, reason: string): Error {
  return invalidFile(file.name, reason);
}

/** Several files as one. A read lies within one of them. */
class JoinedFiles implements ByteSource {
  readonly name: string;
  readonly bytes: number;
  /** Position of each file. */
  readonly starts: number[] = [];

  constructor(private readonly files: readonly ByteSource[]) {
    this.name = files[0]?.name ?? '';
    this.bytes = files.reduce((start, file) => {
      this.starts.push(start);
      return start + file.bytes;
    }, 0);
  }

  async read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const index = this.indexAt(position);
    return await (this.files[index] as ByteSource).read(position - (this.starts[index] as number), length);
  }

  locate(position: number): { name: string; position: number } {
    const index = this.indexAt(position);
    return { name: this.files[index]?.name ?? this.name, position: position - (this.starts[index] as number) };
  }

  private indexAt(position: number): number {
    return this.starts.findLastIndex((start) => start <= position);
  }
}
