/** Encodes protobuf messages (proto3 wire format) as far as ONNX needs it. Each call appends one field. */
export class ProtobufEncoder {
  private readonly pieces: Uint8Array[] = [];
  private length = 0;

  /** Appends a varint; negative values take ten bytes, as int32 and int64 fields require. */
  integer(field: number, value: number | bigint): this {
    return this.put(encodeVarint((field << 3) | 0), encodeVarint(value));
  }

  float(field: number, value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    return this.put(encodeVarint((field << 3) | 5), bytes);
  }

  /** Appends four bytes unchanged: a float that was read. */
  fixed32(field: number, value: Uint8Array): this {
    return this.put(encodeVarint((field << 3) | 5), value);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.put(encodeVarint((field << 3) | 2), encodeVarint(value.length), value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, 'utf8'));
  }

  message(field: number, value: ProtobufEncoder): this {
    return this.put(encodeVarint((field << 3) | 2), encodeVarint(value.length)).append(value);
  }

  /** Appends all fields of another message. Its pieces are not joined, which would copy large tensors at every level. */
  append(fields: ProtobufEncoder): this {
    for (const piece of fields.pieces) this.put(piece);
    return this;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.pieces, this.length);
  }

  private put(...pieces: Uint8Array[]): this {
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.length += piece.length;
    }
    return this;
  }
}

export function encodeVarint(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
