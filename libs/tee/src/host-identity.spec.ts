import { hexToBytes } from '@noble/hashes/utils';
import { createECDH } from 'node:crypto';
import { hashMessage, recoverMessageAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { addressOfPublicKey, createHostIdentity, identityOf, recoverAddress } from './host-identity.js';

/** A key that many test suites use, and its published address. */
const knownKey = 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const knownAddress = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';

const texts = ['', 'hello', 'model-a:00:ff', 'Grüße, 世界 👋', 'x'.repeat(10_000), 'line\r\nline\0'];

describe('the identity of a model host', () => {
  it('has the address that its key has elsewhere', () => {
    expect(identityOf(hexToBytes(knownKey)).address).toBe(knownAddress);
    for (let round = 0; round < 20; round++) {
      const { publicKey, address } = createHostIdentity();
      expect(publicKey).toMatch(/^04[0-9a-f]{128}$/);
      expect(addressOfPublicKey(hexToBytes(publicKey))).toBe(address);
    }
    expect(identityOf(hexToBytes(knownKey)).publicKey).toBe(privateKeyToAccount(`0x${knownKey}`).publicKey.slice(2));
  });

  it.each(texts)('signs %j as another implementation of EIP-191 does', async (text) => {
    const signature = identityOf(hexToBytes(knownKey)).sign(text);
    expect(signature).toBe(await privateKeyToAccount(`0x${knownKey}`).signMessage({ message: text }));
    expect(recoverAddress(text, signature)).toBe(knownAddress);
  });

  it('makes a new key each time, whose signatures others recover', async () => {
    const one = createHostIdentity();
    const other = createHostIdentity();
    expect(one.publicKey).not.toBe(other.publicKey);
    const recovered = await recoverMessageAddress({ message: 'text', signature: one.sign('text') as `0x${string}` });
    expect(recovered.toLowerCase()).toBe(one.address);
  });

  it('keeps its key where nothing but its functions reaches', () => {
    expect(Object.keys(identityOf(hexToBytes(knownKey))).toSorted()).toEqual([
      'address',
      'endorse',
      'publicKey',
      'sharedSecret',
      'sign',
    ]);
    expect(JSON.stringify(identityOf(hexToBytes(knownKey)))).not.toContain(knownKey);
  });

  it('agrees with another implementation of ECDH', () => {
    const peer = createECDH('secp256k1');
    peer.generateKeys();
    for (const form of ['uncompressed', 'compressed'] as const) {
      const identity = createHostIdentity();
      const secret = identity.sharedSecret(peer.getPublicKey(null, form));
      expect(Buffer.from(secret)).toEqual(peer.computeSecret(hexToBytes(identity.publicKey)));
    }
  });

  it('keeps the leading zeros of a shared secret', () => {
    // The smallest key whose secret with the known one begins with a zero byte.
    const peer = identityOf(hexToBytes((163).toString(16).padStart(64, '0')));
    const secret = identityOf(hexToBytes(knownKey)).sharedSecret(hexToBytes(peer.publicKey));
    expect(secret).toHaveLength(32);
    expect(secret[0]).toBe(0);
  });

  it.each([
    ['a point that is not on the curve', `04${'11'.repeat(64)}`],
    ['the point at infinity', '00'],
    ['a truncated key', `04${'11'.repeat(63)}`],
    ['no bytes', ''],
    ['coordinates of the field size', `04${'ff'.repeat(64)}`],
  ])('refuses %s', (_, key) => {
    expect(() => createHostIdentity().sharedSecret(hexToBytes(key))).toThrow();
  });
});

describe('the address of a signature', () => {
  it.each([
    '',
    '0x',
    `0x${'00'.repeat(65)}`,
    `0x${'ff'.repeat(64)}1b`,
    `${'11'.repeat(64)}1b`,
    `0x${'11'.repeat(64)}1d`,
    `0x${'11'.repeat(63)}1b`,
  ])('does not exist for %s', (signature) => {
    expect(recoverAddress('text', signature)).toBeNull();
  });

  it('is another one for another text', () => {
    const identity = createHostIdentity();
    expect(recoverAddress('other', identity.sign('text'))).not.toBe(identity.address);
    expect(hashMessage('text')).not.toBe(hashMessage('other'));
  });
});
