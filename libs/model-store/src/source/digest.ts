import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pullError } from './pull-error.js';

/** Expected content of a file. Absent members are not checked. */
export interface ExpectedContent {
  bytes?: number;
  /** Hex. */
  sha256?: string;
  /** SRI: `sha512-<base64>`. */
  integrity?: string;
}

/** Hashes a byte stream and compares at its end. */
export class ContentCheck {
  bytes = 0;
  private readonly sha256 = createHash('sha256');
  private readonly sri: { hash: Hash; base64: string } | null;

  constructor(
    private readonly expected: ExpectedContent,
    private readonly name: string,
  ) {
    const [, algorithm, base64] = /^(sha\d+)-(.+)$/.exec(expected.integrity ?? '') ?? [];
    this.sri = algorithm && base64 ? { hash: createHash(algorithm), base64 } : null;
  }

  update(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.sha256.update(chunk);
    this.sri?.hash.update(chunk);
  }

  /** Hashes the part of the file left by an earlier run. */
  async updateFromFile(path: string, onBytes: (done: number) => void, signal?: AbortSignal): Promise<void> {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, signal }) as AsyncIterable<Buffer>) {
      this.update(chunk);
      onBytes(this.bytes);
    }
  }

  /** Fails with `MODEL_PULL_FAILED` naming the file and both values if the content differs. */
  verify(): void {
    const { bytes, sha256 } = this.expected;
    if (bytes !== undefined && bytes !== this.bytes) {
      throw pullError(`${this.name} has ${this.bytes} bytes; ${bytes} were expected.`);
    }
    const actual = this.sha256.digest('hex');
    if (sha256 !== undefined && sha256 !== actual) {
      throw pullError(`${this.name} has the sha256 ${actual}; ${sha256} was expected.`);
    }
    if (this.sri && this.sri.hash.digest('base64') !== this.sri.base64) {
      throw pullError(`${this.name} does not match its integrity ${this.expected.integrity ?? ''}.`);
    }
  }
}

/** The SRI form of a hash in hex. */
export function sriOf(algorithm: 'sha256', hex: string): string {
  return `${algorithm}-${Buffer.from(hex, 'hex').toString('base64')}`;
}
