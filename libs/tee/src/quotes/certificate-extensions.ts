import type { X509Certificate } from 'node:crypto';

/** A value in DER: its tag and its bytes. */
interface Value {
  readonly tag: number;
  readonly bytes: Uint8Array;
}

const sequence = 0x30;
const octetString = 0x04;
/** Tag of the extensions in a certificate. */
const extensionsTag = 0xa3;

/** Returns the extensions of a certificate by the hex of their encoded identifiers. Node.js shows none but a few. */
export function extensionsOf({ raw }: Pick<X509Certificate, 'raw'>): Map<string, Uint8Array> {
  const [certificate] = valuesIn(raw);
  const [body] = valuesIn(contentOf(certificate, sequence));
  const wrapper = valuesIn(contentOf(body, sequence)).find(({ tag }) => tag === extensionsTag);
  const [list] = wrapper === undefined ? [] : valuesIn(wrapper.bytes);
  const found = new Map<string, Uint8Array>();
  for (const extension of list === undefined ? [] : valuesIn(list.bytes)) {
    const [id, ...others] = valuesIn(extension.bytes);
    const content = others.find(({ tag }) => tag === octetString);
    if (id !== undefined && content !== undefined) found.set(Buffer.from(id.bytes).toString('hex'), content.bytes);
  }
  return found;
}

/** A small non-negative integer in DER; null for anything else. */
export function integerOf(bytes: Uint8Array | undefined): number | null {
  const [value] = bytes === undefined ? [] : valuesIn(bytes);
  if (value?.tag !== 0x02 || value.bytes.length > 4) return null;
  return value.bytes.reduce((number, byte) => number * 256 + byte, 0);
}

function contentOf(value: Value | undefined, tag: number): Uint8Array {
  if (value?.tag !== tag) throw new Error('the certificate has another form');
  return value.bytes;
}

function valuesIn(bytes: Uint8Array): Value[] {
  const values: Value[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at] ?? 0;
    const first = bytes[at + 1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    const start = at + 2 + lengthBytes;
    const length =
      lengthBytes === 0 ? first : bytes.subarray(at + 2, start).reduce((number, byte) => number * 256 + byte, 0);
    if (lengthBytes > 4 || start + length > bytes.length) throw new Error('the bytes end too early');
    values.push({ tag, bytes: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return values;
}
