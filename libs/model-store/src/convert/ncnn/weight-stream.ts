import { decodeFloat16 } from '#common';
import type { InputFile } from '../input-file.js';
import { invalidFile } from '../invalid-file.js';

const halfPrecisionTag = 0x01306b47;
const plainTag = 0;

/** Reads the weights of an ncnn network (`.bin`) in layer order. */
export class WeightStream {
  private position = 0;

  constructor(private readonly file: InputFile) {}

  /** Reads a tagged tensor: half precision padded to four bytes, or plain floats. */
  async tagged(count: number): Promise<Float32Array> {
    const tag = new DataView((await this.take(4)).buffer).getUint32(0, true);
    if (tag === plainTag) return this.floats(count);
    if (tag !== halfPrecisionTag) throw invalidFile(this.file.name, `it has weights of the unknown kind ${tag}`);
    const bytes = await this.take(Math.ceil((count * 2) / 4) * 4);
    return Float32Array.from(new Uint16Array(bytes.buffer, 0, count), decodeFloat16);
  }

  async floats(count: number): Promise<Float32Array> {
    return new Float32Array((await this.take(count * 4)).buffer);
  }

  /** Throws if the file has more weights than the network used. */
  end(): void {
    if (this.position === this.file.bytes) return;
    throw invalidFile(this.file.name, `${this.file.bytes - this.position} bytes of it belong to no layer`);
  }

  private async take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.file.read(this.position, length);
    this.position += length;
    return bytes;
  }
}
