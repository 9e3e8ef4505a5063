/** Header entry of one tensor in a GGUF file. */
export interface GgufTensor {
  name: string;
  dimensions: number[];
}

export interface GgufHeader {
  /** First bytes of the file up to its counts: magic and version. */
  prefix: Uint8Array;
  keyValueCount: number;
  /** All keys and values, as raw bytes. */
  keyValues: Uint8Array;
  tensors: GgufTensor[];
}

/** Size of a scalar in bytes by type number; 8 is a string and 9 an array. */
const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** Parses a GGUF header without reading the tensor data. */
export function readGgufHeader(file: Buffer): GgufHeader {
  const reader = new HeaderReader(file);
  const tensorCount = reader.u64();
  const keyValueCount = reader.u64();
  const from = reader.at;
  for (let index = 0; index < keyValueCount; index++) {
    reader.text();
    reader.skipValue(reader.u32());
  }
  const keyValues = file.subarray(from, reader.at);
  const tensors = Array.from({ length: tensorCount }, () => reader.tensor());
  return { prefix: file.subarray(0, 8), keyValueCount, keyValues, tensors };
}

class HeaderReader {
  at = 8;

  constructor(private readonly file: Buffer) {}

  u32(): number {
    this.at += 4;
    return this.file.readUInt32LE(this.at - 4);
  }

  u64(): number {
    this.at += 8;
    return Number(this.file.readBigUInt64LE(this.at - 8));
  }

  text(): string {
    const length = this.u64();
    this.at += length;
    return this.file.toString('utf8', this.at - length, this.at);
  }

  skipValue(type: number): void {
    if (type === 8) this.text();
    else if (type === 9) {
      const elementType = this.u32();
      const count = this.u64();
      for (let index = 0; index < count; index++) this.skipValue(elementType);
    } else this.at += scalarBytes[type] ?? 0;
  }

  tensor(): GgufTensor {
    const name = this.text();
    const rank = this.u32();
    const dimensions = Array.from({ length: rank }, () => this.u64());
    this.u32();
    this.u64();
    return { name, dimensions };
  }
}
