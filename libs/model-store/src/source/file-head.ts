import type { ByteSource } from '../convert/byte-source.js';
import { pullError } from './pull-error.js';

/** The header of no GGUF file comes near it: the largest vocabularies take some 10 MB. */
const maxHeadBytes = 64 * 1024 * 1024;
const maxPackageBytes = 8 * maxHeadBytes;

/** The memory that the heads of one package may still take. */
export class HeadBudget {
  constructor(private left = maxPackageBytes) {}

  /** Returns how many of these bytes may be held. */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.left);
    this.left -= taken;
    return taken;
  }
}

/** The first bytes of a file that goes by in a stream, of which only the header is read. */
export class FileHead implements ByteSource {
  private readonly chunks: Buffer[] = [];
  private held = 0;

  constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly budget: HeadBudget,
  ) {}

  add(chunk: Buffer): void {
    const size = this.budget.take(Math.min(chunk.length, maxHeadBytes - this.held));
    if (size === 0) return;
    this.chunks.push(Buffer.from(chunk.subarray(0, size)));
    this.held += size;
  }

  read(position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (position + length > this.held) return Promise.reject(this.tooLong());
    // One chunk from now on, so that nothing is held twice.
    if (this.chunks.length > 1) this.chunks.splice(0, Infinity, Buffer.concat(this.chunks));
    const [joined = Buffer.alloc(0)] = this.chunks;
    return Promise.resolve(new Uint8Array(joined.subarray(position, position + length)));
  }

  private tooLong(): Error {
    if (this.held === Math.min(this.bytes, maxHeadBytes)) {
      return pullError(`The header of ${this.name} is longer than ${this.held} bytes.`);
    }
    const reason = 'its package holds too many GGUF files to keep the beginnings of all';
    return pullError(`${this.name} was not read: ${reason}. Download the package and add the file from this disk.`);
  }
}
