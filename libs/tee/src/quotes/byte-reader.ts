/** Reads bytes from the front; throws where too few are left. */
export class ByteReader {
  private position = 0;

  constructor(private readonly bytes: Uint8Array) {}

  take(length: number): Uint8Array {
    const end = this.position + length;
    if (end > this.bytes.length) throw new Error('the bytes end too early');
    const taken = this.bytes.subarray(this.position, end);
    this.position = end;
    return taken;
  }

  /** A little-endian number. */
  number(length: 2 | 4): number {
    return this.take(length).reduceRight((value, byte) => value * 256 + byte, 0);
  }

  expect(number: number): void {
    if (this.number(2) !== number) throw new Error('unknown certification data');
  }
}
