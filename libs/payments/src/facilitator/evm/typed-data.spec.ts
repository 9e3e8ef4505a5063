import { describe, expect, it } from 'vitest';
import { isRefusal } from '../refusal.js';
import { type Hex, parseAuthorization, type SignedAuthorization } from './authorization.js';
import { findSignedDomain, hashAuthorization, recoverSigner, separatorOf, splitSignature } from './typed-data.js';

const base = {
  name: 'USD Coin',
  version: '2',
  chainId: 8_453,
  verifyingContract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
} as const;

/** What the protocol's own client wrote for the key of 32 bytes 0x11. */
const recorded = {
  authorization: {
    from: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    to: '0x00000000000000000000000000000000000000AA',
    value: '5000000',
    validAfter: '0',
    validBefore: '1795878855',
    nonce: '0x8dce59106bf58b38b0579777d8017af48f4c4ee11190d1a216600a0fc1936dd7',
  },
  signature:
    '0x51e2d502b2097c89950852a32b82ccf87f4da5e11546635c140ec535e9ad46fd6d1a213e671b88209c4877973ff7d83fedb62e8014d96161e3c6d879f392301e1c',
};

function parsed(payload: Record<string, unknown> = recorded): SignedAuthorization {
  const result = parseAuthorization(payload);
  if (isRefusal(result)) throw new Error(result.message);
  return result;
}

function split(signature: string = recorded.signature) {
  const result = splitSignature(signature as Hex);
  if (!result) throw new Error('no signature of a key');
  return result;
}

describe('the domain of a token', () => {
  it('has the separator that the contracts of the dollar token return on two chains', () => {
    expect(separatorOf(base)).toBe('0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f');
    const mainnet = { ...base, chainId: 1, verifyingContract: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48' } as const;
    expect(separatorOf(mainnet)).toBe('0x06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335');
  });
});

describe('the hash of an authorization', () => {
  it('is what the client of the protocol signs', async () => {
    const { authorization } = parsed();
    expect(await recoverSigner(hashAuthorization(base, authorization), split())).toBe(authorization.from);
  });

  it.each([
    ['from', '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2b'],
    ['to', '0x00000000000000000000000000000000000000ab'],
    ['value', 5_000_001n],
    ['validAfter', 1n],
    ['validBefore', 1_795_878_856n],
    ['nonce', `0x${'00'.repeat(32)}`],
  ])('changes with %s', async (name, value) => {
    const { authorization } = parsed();
    const changed = hashAuthorization(base, { ...authorization, [name]: value });
    expect(await recoverSigner(changed, split())).not.toBe(authorization.from);
  });

  it.each([{ name: 'USDC' }, { version: '1' }, { chainId: 84_532 }, { name: 'USDC', version: '1', chainId: 1 }])(
    'of the wrong domain %o is recognized',
    async (change) => {
      const { authorization } = parsed();
      const found = await findSignedDomain({ ...base, ...change }, { authorization, signature: split() });
      expect(found).toEqual(base);
    },
  );
});

describe('a signature of a key', () => {
  it('may count its parity from 0 or 27, or be compact', () => {
    const { r, s } = split();
    const body = recorded.signature.slice(0, 130);
    expect(split(`${body}01`)).toEqual({ r, s, v: 28 });
    expect(split(`${body}00`)).toEqual({ r, s, v: 27 });
    const compact = (BigInt(s) | (1n << 255n)).toString(16);
    expect(split(`${r}${compact}`)).toEqual({ r, s, v: 28 });
  });

  it.each([
    ['of 63 bytes', recorded.signature.slice(0, 128)],
    ['of 66 bytes', `${recorded.signature}00`],
    ['with an unknown parity', `${recorded.signature.slice(0, 130)}1d`],
    ['with the twin of its s', `${recorded.signature.slice(0, 66)}${'f'.repeat(63)}01b`],
    ['of zeros', `0x${'0'.repeat(130)}`],
  ])('%s is none', (_name, signature) => {
    expect(splitSignature(signature as Hex)).toBeNull();
  });
});

describe('the payload of an authorization', () => {
  it.each([
    undefined,
    null,
    1,
    -1,
    1.5,
    Number.NaN,
    '',
    'x',
    [],
    {},
    '0x',
    '1e9',
    '-5',
    `${2n ** 256n}`,
    ' 5',
    '٥',
    'a'.repeat(1_000_000),
  ])('is refused by name with %s in any place', (value) => {
    for (const name of Object.keys(recorded.authorization)) {
      const result = parseAuthorization({ ...recorded, authorization: { ...recorded.authorization, [name]: value } });
      if (value === 1 && ['value', 'validAfter', 'validBefore'].includes(name)) continue;
      expect(result).toMatchObject({ message: expect.stringContaining(`payload.authorization.${name} `) });
    }
    for (const name of ['signature', 'authorization'])
      if (!(name === 'authorization' && typeof value === 'object' && value !== null && !Array.isArray(value)))
        expect(parseAuthorization({ ...recorded, [name]: value })).toMatchObject({
          message: expect.stringContaining(`payload.${name} `),
        });
  });

  it('may be written with numbers', () => {
    const authorization = { ...recorded.authorization, value: 5_000_000, validAfter: 0, validBefore: 1_795_878_855 };
    expect(parsed({ ...recorded, authorization })).toEqual(parsed());
  });
});
