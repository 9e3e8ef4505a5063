import type { ByteSource } from '../convert/byte-source.js';
import { pullError } from './pull-error.js';

/** The header of no GGUF file comes near it: the largest vocabularies take some 10 MB. */
const maxHeadBytes = 64 * 1024 * 1024;

/** The first bytes of a file that goes by in a stream, of which only the header is read. */
export class FileHead implements ByteSource {
  private readonly chunks: Buffer[] = [];
  private held = 0;
  private joined: Buffer | null = null;

  constructor(
    readonly name: string,
    readonly bytes: number,
  ) {}

  add(chunk: Buffer): void {
    const piece = chunk.subarray(0, maxHeadBytes - this.held);
    if (piece.length === 0) return;
    this.chunks.push(Buffer.from(piece));
    this.held += piece.length;
  }

  read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    this.joined ??= Buffer.concat(this.chunks);
    if (position + length > this.joined.length) {
      return Promise.reject(pullError(`The header of ${this.name} is longer than ${this.joined.length} bytes.`));
    }
    return Promise.resolve(new Uint8Array(this.joined.subarray(position, position + length)));
  }
}
