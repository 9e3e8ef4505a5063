import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHostIdentity, identityOf } from '../host-identity.js';
import { readPublicKey } from './public-key.js';
import { FieldOpener, sealText } from './seal-text.js';
import { decodeSealedField, isSealedField, textBytesOf } from './sealed-field.js';
import { SealingError } from './sealing-error.js';

const identity = createHostIdentity();
const keyOf = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
const openerOf = ({ sharedSecret } = identity): FieldOpener => new FieldOpener(sharedSecret);
const seal = (text: string): string => sealText(text, keyOf(identity.publicKey));

/** The problem of a field; null for one that opens. */
function problemOf(field: string): string | null {
  try {
    openerOf().open(field);
    return null;
  } catch (error) {
    if (error instanceof SealingError) return error.problem;
    throw error;
  }
}

const texts = ['', ' ', '\n', 'hello', 'Grüße, 世界 👋', '\0', '\uFEFFmark', 'x'.repeat(100_000), '"'.repeat(93)];

function changed(field: string, position: number): string {
  const digit = (Number.parseInt(field[position] ?? '0', 16) + 1 + (position % 15)) % 16;
  return field.slice(0, position) + digit.toString(16) + field.slice(position + 1);
}

describe('a sealed text', () => {
  it.each(texts)('opens to itself: %j', (text) => {
    const field = seal(text);
    expect(isSealedField(field)).toBe(true);
    expect(openerOf().open(field)).toBe(text);
    expect(openerOf().open(field.toUpperCase())).toBe(text);
    expect(textBytesOf(field)).toBe(Buffer.byteLength(text));
  });

  it('opens to itself whatever it is', () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 500 });
    fc.assert(fc.property(anyText, (text) => openerOf().open(seal(text)) === text));
  });

  it('has a key and a nonce of its own, each time', () => {
    const fields = Array.from({ length: 50 }, () => decodeSealedField(seal('same')));
    const distinct = (read: (field: (typeof fields)[number]) => Uint8Array): number =>
      new Set(fields.map((field) => Buffer.from(read(field)).toString('hex'))).size;
    expect(distinct(({ senderKey }) => senderKey)).toBe(50);
    expect(distinct(({ nonce }) => nonce)).toBe(50);
    expect(distinct(({ ciphertext }) => ciphertext)).toBe(50);
  });

  it('is one of 186 hex characters for no text', () => {
    expect(seal('')).toMatch(/^04[0-9a-f]{184}$/);
  });

  it('opens as two other implementations of the format wrote it', () => {
    // Sender 22…, host 11…, nonce 00 to 0b: by Python's cryptography, and by web crypto with @noble/curves.
    const field = [
      '04466d7fcae563e5cb09a0d1870bb580344804617879a14949cf22285f1bae3f27',
      '6728176c3c6431f8eeda4538dc37c865e2784f3a9e77d044f33e407797e1278a',
      '000102030405060708090a0b',
      'ab4591d2502ed62b7194a623baf474e2f342aa30fa3bf4822eebaf54decf',
    ].join('');
    expect(openerOf(identityOf(keyOf('11'.repeat(32)))).open(field)).toBe('known text ✓');
  });
});

describe('a sealed field that was changed', () => {
  it('does not open, whichever digit is another', () => {
    const field = seal('a text of some length');
    for (let position = 0; position < field.length; position++) {
      expect(problemOf(changed(field, position)), `digit ${position}`).toMatch(/^not-(hex|opened)$/);
    }
  });

  it('does not open in any part of it', () => {
    const field = seal('a text of some length');
    for (let length = 0; length < field.length; length++) {
      expect(problemOf(field.slice(0, length))).toMatch(/^not-(hex|opened)$/);
    }
    expect(problemOf(field + '00')).toBe('not-opened');
    expect(problemOf(`0x${field}`)).toBe('not-hex');
    expect(problemOf(field + field)).toBe('not-opened');
  });

  it('does not open with the key, the nonce or the tag of another', () => {
    const [one, other] = [seal('one text'), seal('two text')];
    for (const end of [130, 154, one.length - 32])
      expect(problemOf(one.slice(0, end) + other.slice(end))).not.toBeNull();
  });

  it('does not open for another host', () => {
    expect(() => openerOf(createHostIdentity()).open(seal('text'))).toThrow('Failed to decrypt field');
  });

  it.each([
    ['plain text', 'Write a poem', 'not-hex'],
    ['no text', '', 'not-hex'],
    ['a compressed key', `02${'11'.repeat(100)}`, 'not-hex'],
    ['an odd number of digits', `04${'1'.repeat(185)}`, 'not-hex'],
    ['digits of other scripts', '０４'.repeat(93), 'not-hex'],
    ['a key off the curve', `04${'11'.repeat(100)}`, 'not-opened'],
    ['a key of zeros', `04${'00'.repeat(100)}`, 'not-opened'],
    ['coordinates beyond the field', `04${'ff'.repeat(100)}`, 'not-opened'],
  ])('is refused for what it is: %s', (_, field, problem) => {
    expect(problemOf(field)).toBe(problem);
  });

  it('does not open to bytes that are no text, which would take more tokens than its length says', () => {
    const sender = createECDH('secp256k1');
    const senderKey = sender.generateKeys();
    const secret = sender.computeSecret(keyOf(identity.publicKey));
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'ecdsa_encryption', 32));
    const sealed = (bytes: number[]): string => {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const body = Buffer.concat([cipher.update(Buffer.from(bytes)), cipher.final(), cipher.getAuthTag()]);
      return Buffer.concat([senderKey, nonce, body]).toString('hex');
    };
    expect(problemOf(sealed([0x61]))).toBeNull();
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc0, 0x80]]) {
      expect(problemOf(sealed(bytes))).toBe('not-opened');
    }
  });

  it('says nothing of its content', () => {
    for (const field of ['a secret phrase', changed(seal('a secret phrase'), 180)]) {
      const read = () => openerOf().open(field);
      expect(read).toThrow(SealingError);
      expect(read).not.toThrow(/secret/);
    }
  });
});

describe('a public key', () => {
  it('is read in either case', () => {
    expect(readPublicKey(identity.publicKey)).toEqual(keyOf(identity.publicKey));
    expect(readPublicKey(identity.publicKey.toUpperCase())).toEqual(keyOf(identity.publicKey));
  });

  it('must be on the curve and whole', () => {
    const { publicKey } = identity;
    const other = createHostIdentity().publicKey;
    for (const hex of [
      '',
      '00',
      publicKey.slice(2),
      `0x${publicKey}`,
      `${publicKey} `,
      `${publicKey}00`,
      publicKey.slice(0, 128),
      `02${publicKey.slice(2, 66)}`,
      `06${publicKey.slice(2)}`,
      `04${'00'.repeat(64)}`,
      `04${'ff'.repeat(64)}`,
      publicKey.slice(0, 66) + other.slice(66),
      changed(publicKey, 20),
      changed(publicKey, 100),
    ]) {
      expect(readPublicKey(hex), hex).toBeNull();
    }
  });

  it('is refused by the one who would seal for it if it is off the curve', () => {
    expect(() => sealText('text', keyOf(`04${'11'.repeat(64)}`))).toThrow();
  });
});
