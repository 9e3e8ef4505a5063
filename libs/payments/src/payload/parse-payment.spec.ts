import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { PaymentOffers } from '../offers.js';
import { encodeBase58 } from '#accounts';
import { assertPayable, parsePayment } from './parse-payment.js';
import { isSignedByPayer } from './payer-signature.js';

const nowMs = Date.UTC(2026, 10, 28);
const seconds = Math.floor(nowMs / 1_000);
const payTo = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
const asset = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const from = '0x52908400098527886E0F7030069857D2E4169EE7';
const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const feePayer = encodeBase58(Buffer.alloc(32, 7));
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

const offers = new PaymentOffers({
  networks: [
    {
      kind: 'evm',
      network: 'eip155:8453',
      asset,
      payTo,
      extra: { name: 'USD Coin', version: '2' },
      maxTimeoutSeconds: 300,
    },
    { kind: 'solana', network: solana, asset: mint, payTo: feePayer, extra: { feePayer }, maxTimeoutSeconds: 300 },
  ],
  minUsd: 5,
  maxUsd: 10_000,
});

const authorization = {
  from,
  to: payTo,
  value: '10000000',
  validAfter: '0',
  validBefore: String(seconds + 300),
  nonce: `0x${'1f'.repeat(32)}`,
};
const payload = { signature: `0x${'ab'.repeat(65)}`, authorization };
const second = {
  x402Version: 2,
  resource: { url: 'https://api.example.org/api/v1/x402/top-up' },
  accepted: offers.accepts[0],
  payload,
  extensions: { 'payment-identifier': { info: { id: 'order-0123456789' } } },
};
const first = { x402Version: 2, scheme: 'exact', network: 'base', payload };

const headerOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');
const parse = (value: unknown) => parsePayment(headerOf(value), offers, nowMs);
const accept = (value: unknown) => {
  const payment = parse(value);
  assertPayable(payment, offers, nowMs);
  return payment;
};

function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'X402_INVALID_PAYMENT') return error.message;
    throw error;
  }
  return 'accepted';
}

/** The payload with one member at a path replaced. */
function withMember(value: unknown, [name, ...rest]: readonly (string | number)[], replacement: unknown): unknown {
  if (name === undefined) return replacement;
  const members = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return { ...members, [name]: withMember(members[name], rest, replacement) };
}

/** A message with one transfer, as a wallet signs it. */
function transactionOf({ amount = 10_000_000n, data = undefined as Buffer | undefined, keys = 5 } = {}): Buffer {
  const transfer = Buffer.alloc(10);
  transfer[0] = 12;
  transfer.writeBigUInt64LE(amount, 1);
  transfer[9] = 6;
  const words = data ?? transfer;
  const program = Buffer.from('06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9', 'hex');
  const mintKey = Buffer.from('c6fa7af3bedbad3a3d65f36aabc97431b1bbe4c2d2f6e0e47ca60203452f5d61', 'hex');
  const payer = Buffer.alloc(32, 9);
  const all = [Buffer.alloc(32, 7), payer, Buffer.alloc(32, 3), mintKey, program].slice(0, keys);
  const message = Buffer.concat([
    Buffer.from([0x80, 2, 1, 1, all.length]),
    ...all,
    Buffer.alloc(32, 5),
    Buffer.from([1, 4, 4, 2, 3, 2, 1, words.length]),
    words,
    Buffer.from([0]),
  ]);
  return Buffer.concat([Buffer.from([2]), Buffer.alloc(128), message]);
}
const solanaPayment = (transaction: string) => ({
  x402Version: 2,
  accepted: offers.accepts[1],
  payload: { transaction },
});

describe('parsePayment', () => {
  it('reads a payment of the second version', () => {
    expect(accept(second)).toMatchObject({
      kind: 'evm',
      identifier: 'order-0123456789',
      authorization: { payer: from.toLowerCase(), amount: 10_000_000n, validUntilMs: (seconds + 300) * 1_000 },
    });
  });

  it.each([1, 2])('reads a payment of version %i without `accepted`, by the name of its network', (x402Version) => {
    expect(accept({ ...first, x402Version }).terms.network).toBe('eip155:8453');
  });

  it('accepts explicit null for what is absent, and further members of extra', () => {
    const extra = { name: 'USD Coin', version: '2', clientNote: 7 };
    const accepted = { ...offers.accepts[0], extra };
    expect(accept({ ...second, accepted, resource: null, extensions: null }).identifier).toBeNull();
    expect(accept({ ...first, accepted: null, extensions: { 'payment-identifier': null } }).identifier).toBeNull();
    expect(accept({ ...second, accepted: { ...offers.accepts[0], extra: null } }).kind).toBe('evm');
  });

  it('reads base64 of either alphabet', () => {
    const header = headerOf(second).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    expect(parsePayment(header, offers, nowMs).kind).toBe('evm');
  });

  it('reads payer and amount of a Solana payment from its transaction', () => {
    const payment = accept(solanaPayment(transactionOf().toString('base64')));
    expect(payment.authorization).toMatchObject({ amount: 10_000_000n, payer: encodeBase58(Buffer.alloc(32, 9)) });
  });

  it.each([
    ['5000000', 'accepted'],
    ['10000000000', 'accepted'],
    ['4999999', 'payload.authorization.value must be $5 to $10000: top-ups are $5 to $10000, in units of 0.000001.'],
    [
      '10000000001',
      'payload.authorization.value must be $5 to $10000: top-ups are $5 to $10000, in units of 0.000001.',
    ],
    [
      '9'.repeat(78),
      'payload.authorization.value must be $5 to $10000: top-ups are $5 to $10000, in units of 0.000001.',
    ],
  ])('takes %s units or names the range', (value, expected) => {
    const given = withMember(second, ['payload', 'authorization', 'value'], value);
    expect(refusalOf(() => accept(given))).toBe(expected);
  });

  it.each([
    ['validBefore', String(seconds), 'is in the past.'],
    ['validBefore', '0', 'is in the past.'],
    ['validBefore', String(seconds + 86_401), 'is more than a day away.'],
    ['validBefore', '9'.repeat(78), 'is more than a day away.'],
    ['validAfter', String(seconds + 3_600), 'is in the future.'],
  ])('refuses %s %s', (name, value, problem) => {
    const given = withMember(second, ['payload', 'authorization', name], value);
    expect(refusalOf(() => accept(given))).toBe(`payload.authorization.${name} ${problem}`);
  });

  it('accepts an authorization that is valid for an hour', () => {
    const validBefore = String(seconds + 3_600);
    expect(accept(withMember(second, ['payload', 'authorization', 'validBefore'], validBefore)).kind).toBe('evm');
  });

  const wrong: unknown[] = [
    ...[undefined, true, 5, -1, 1.5, Number.MAX_SAFE_INTEGER, [], {}, ['1'], { toString: 1 }, 'x', ''],
    ...[
      '-5000000',
      '+5',
      '5e6',
      '0x4c4b40',
      '5.5',
      'NaN',
      'Infinity',
      ' 5000000',
      '５００００００',
      '٥',
      '1'.repeat(79),
    ],
    ...['\u0000', '𝟙', 'a'.repeat(1_000)],
  ];
  const fields: { path: string[]; name: string }[] = [
    { path: ['x402Version'], name: 'x402Version' },
    { path: ['payload'], name: 'payload' },
    { path: ['payload', 'signature'], name: 'payload.signature' },
    { path: ['payload', 'authorization'], name: 'payload.authorization' },
    ...['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'].map((name) => ({
      path: ['payload', 'authorization', name],
      name: `payload.authorization.${name}`,
    })),
    { path: ['accepted', 'network'], name: 'accepted.network' },
    { path: ['accepted', 'scheme'], name: 'accepted.scheme' },
  ];
  const cases = fields.flatMap(({ path, name }) => [null, ...wrong].map((value) => ({ path, name, value })));

  it.each(cases)('names $name for $value', ({ path, name, value }) => {
    expect(refusalOf(() => accept(withMember(second, path, value))).startsWith(name)).toBe(true);
  });

  it.each([
    ['accepted.asset', ['accepted', 'asset'], `0x${'00'.repeat(20)}`],
    ['accepted.payTo', ['accepted', 'payTo'], `0x${'00'.repeat(20)}`],
    ['accepted.extra.name', ['accepted', 'extra', 'name'], 'USDC'],
    ['payload.authorization.to', ['payload', 'authorization', 'to'], `0x${'00'.repeat(20)}`],
    ['extensions.payment-identifier.info.id', ['extensions', 'payment-identifier', 'info', 'id'], 'short'],
    ['extensions.payment-identifier.info.id', ['extensions', 'payment-identifier', 'info', 'id'], 'ü'.repeat(20)],
    ['extensions.payment-identifier.info.id', ['extensions', 'payment-identifier', 'info', 'id'], 'a'.repeat(129)],
  ])('refuses another %s', (name, path, value) => {
    expect(refusalOf(() => accept(withMember(second, path, value)))).toContain(name);
  });

  it.each([
    ['', 'no text'],
    ['%%%', 'no base64'],
    ['e30=, e30=', 'two headers'],
    [headerOf([]), 'a list'],
    [headerOf(null), 'null'],
    [Buffer.from('{"x402Version":').toString('base64'), 'half of it'],
    [headerOf({ ...second, more: 'a'.repeat(1_000_000) }), 'a megabyte'],
    [Buffer.from('['.repeat(9_000)).toString('base64'), 'depth'],
  ])('refuses a header of %#: %s', (header) => {
    expect(refusalOf(() => parsePayment(header, offers, nowMs))).toMatch(/^The payment header must be/);
  });

  it('refuses 1,000 mutations with an error of the payment, or accepts what is still one', () => {
    const texts = [second, first, solanaPayment(transactionOf().toString('base64'))].map((value) =>
      JSON.stringify(value),
    );
    const mutation = fc.tuple(fc.constantFrom(...texts), fc.nat(1_000), fc.nat(20), fc.string({ maxLength: 20 }));
    fc.assert(
      fc.property(mutation, ([text, at, cut, inserted]) => {
        const start = at % text.length;
        const mutated = text.slice(0, start) + inserted + text.slice(start + cut);
        refusalOf(() => parsePayment(Buffer.from(mutated).toString('base64'), offers, nowMs));
      }),
      { numRuns: 1_000 },
    );
  });

  it('refuses 1,000 mutated transactions likewise', () => {
    const bytes = transactionOf();
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(bytes.length), (at, byte, length) => {
        const mutated = Buffer.from(bytes);
        mutated[at] = byte;
        const text = mutated.subarray(0, Math.max(length, 1)).toString('base64');
        refusalOf(() => parse(solanaPayment(text)));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['another instruction', transactionOf({ data: Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]) })],
    ['a short transfer', transactionOf({ data: Buffer.from([12, 1]) })],
    ['no token program', transactionOf({ keys: 4 })],
    ['more than a packet', Buffer.concat([transactionOf(), Buffer.alloc(1_232)])],
    ['nothing', Buffer.alloc(1)],
  ])('refuses a Solana transaction with %s', (_case, bytes) => {
    expect(refusalOf(() => parse(solanaPayment(bytes.toString('base64'))))).toMatch(/^payload[.]transaction/);
  });
});

describe('isSignedByPayer', () => {
  it('is true for the signature of the payer only', async () => {
    const { privateKeyToAccount } = await import('viem/accounts');
    const account = privateKeyToAccount(`0x${'11'.repeat(32)}`);
    const types = {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    } as const;
    const own = { ...authorization, from: account.address };
    const signature = await account.signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: asset },
      types,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: own.from,
        to: payTo,
        value: BigInt(own.value),
        validAfter: 0n,
        validBefore: BigInt(own.validBefore),
        nonce: own.nonce as `0x${string}`,
      },
    });
    expect(await isSignedByPayer(parse({ ...first, payload: { signature, authorization: own } }))).toBe(true);
    const other = { ...own, value: '9000000' };
    expect(await isSignedByPayer(parse({ ...first, payload: { signature, authorization: other } }))).toBe(false);
    expect(await isSignedByPayer(parse(second))).toBe(false);
  });

  it('checks the signature of a Solana payer', async () => {
    const { generateKeyPairSync, sign } = await import('node:crypto');
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const bytes = transactionOf();
    // Signatures, then the message: its keys begin after five bytes, the payer's is the second.
    key.copy(bytes, 129 + 5 + 32);
    sign(null, bytes.subarray(129), privateKey).copy(bytes, 1 + 64);
    expect(await isSignedByPayer(parse(solanaPayment(bytes.toString('base64'))))).toBe(true);
    bytes[70] = (bytes[70] ?? 0) ^ 1;
    expect(await isSignedByPayer(parse(solanaPayment(bytes.toString('base64'))))).toBe(false);
  });
});
