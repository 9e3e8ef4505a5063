import { describe, expect, it } from 'vitest';
import { createSiweMessage } from 'viem/siwe';
import {
  encodeSignIn,
  evmWallet,
  type SignInOptions,
  signInHeader,
  signInMembers,
  solanaMainnet,
  solanaWallet,
  type TestWallet,
} from '#test/wallet-sign-ins';
import { seededRandom } from '#test/seeded-random';
import { ContractSignatures } from './contract-signatures.js';
import { SignInVerifier } from './sign-in-verifier.js';

const origin = 'http://127.0.0.1:3000';
const place = { origins: [origin, 'https://api.example.org'], chains: ['eip155:8453', solanaMainnet] };
const verifier = new SignInVerifier(
  place,
  new ContractSignatures(new Map(), { post: () => Promise.reject(new Error('no node')) }),
);
const verify = (header: string, nowMs = Date.now()) => verifier.verify(header, nowMs);

const wallets: [string, TestWallet][] = [
  ['an EVM wallet', evmWallet()],
  ['a Solana wallet that writes base58', solanaWallet('base58')],
  ['a Solana wallet that writes base64', solanaWallet('base64')],
];
const [, evm] = wallets[0]!;
const [, solana] = wallets[1]!;

const refusal = (message: RegExp | string) =>
  expect.objectContaining({ code: 'X402_INVALID_SIGN_IN', message: expect.stringMatching(message) as string });

async function expectAccepted(header: string): Promise<void> {
  await expect(verify(header)).resolves.toMatchObject({ wallet: evm.address.toLowerCase() });
}

async function expectRefused(
  wallet: TestWallet,
  options: Partial<SignInOptions>,
  message: RegExp | string,
  nowMs?: number,
) {
  const header = await signInHeader(wallet, { origin, ...options });
  await expect(verify(header, nowMs)).rejects.toEqual(refusal(message));
}

/** Members of the form without a message, as generic clients send it. */
async function unpacked(wallet: TestWallet, fields: Record<string, unknown>, text: string) {
  const type = wallet.family === 'eip155' ? 'eip191' : 'ed25519';
  return { ...fields, address: wallet.address, chainId: wallet.chainId, type, signature: await wallet.sign(text) };
}

describe('SignInVerifier', () => {
  it.each(wallets)('accepts %s until its message ends', async (_name, wallet) => {
    const issuedAtMs = Date.now() - 10_000;
    const header = await signInHeader(wallet, { origin, nonce: 'abcdefgh12345678', issuedAtMs });
    expect(await verify(header)).toEqual({
      wallet: wallet.family === 'eip155' ? wallet.address.toLowerCase() : wallet.address,
      nonce: 'abcdefgh12345678',
      issuedAtMs,
      untilMs: issuedAtMs + 300_000,
    });
  });

  it.each(wallets)('accepts %s without a statement or an expiration', async (_name, wallet) => {
    const header = await signInHeader(wallet, { origin, statement: null, expirationMs: null });
    await expect(verify(header)).resolves.toMatchObject({ nonce: expect.any(String) as string });
  });

  it('accepts messages of viem, in every optional line', async () => {
    const message = createSiweMessage({
      address: evm.address as `0x${string}`,
      chainId: 8453,
      domain: 'api.example.org',
      nonce: 'abcdefgh12345678',
      uri: 'https://api.example.org/api/v1/chat/completions?x=1',
      version: '1',
      scheme: 'https',
      statement: 'I accept the terms.',
      issuedAt: new Date(),
      notBefore: new Date(Date.now() - 1000),
      expirationTime: new Date(Date.now() + 60_000),
      requestId: 'a request',
      resources: ['https://example.org/a', 'ipfs://b'],
    });
    const header = encodeSignIn({ ...(await unpacked(evm, {}, message)), message });
    const { untilMs } = await verify(header);
    expect(untilMs).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it.each([8453, '8453', 'eip155:8453'])('accepts the chain as %j', async (chainId) => {
    await expectAccepted(await signInHeader(evm, { origin, members: { chainId } }));
  });

  it.each(['lower', 'upper'] as const)('accepts an address in %s case', async (letters) => {
    const digits = evm.address.slice(2);
    const address = `0x${letters === 'lower' ? digits.toLowerCase() : digits.toUpperCase()}`;
    await expectAccepted(await signInHeader(evm, { origin, address, members: { address } }));
  });

  it('refuses an address whose checksum is wrong', async () => {
    const mixed = /[a-f]/i.exec(evm.address.slice(2));
    const at = (mixed?.index ?? 0) + 2;
    const letter = evm.address[at]!;
    const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
    const address = evm.address.slice(0, at) + other + evm.address.slice(at + 1);
    await expectRefused(evm, { address, members: { address } }, 'EIP-55');
  });

  it.each([
    ['the origin', origin],
    ['the domain alone', '127.0.0.1:3000'],
    ['a path with a query', `${origin}/api/v1/x402/balance/0xabc?limit=1`],
  ])('accepts %s as the URI', async (_name, uri) => {
    await expectAccepted(await signInHeader(evm, { origin, uri }));
  });

  it.each([null, undefined])('takes optional members that are %s as absent', async (value) => {
    const members = { type: value, timestamp: value, signatureScheme: value };
    await expectAccepted(await signInHeader(evm, { origin, members }));
  });

  describe('with unpacked fields', () => {
    const fields = () => ({
      domain: '127.0.0.1:3000',
      uri: `${origin}/api/v1/chat/completions`,
      version: '1',
      nonce: 'a'.repeat(32),
      issuedAt: new Date().toISOString(),
    });
    const tail = (wallet: TestWallet, { uri, nonce, issuedAt }: ReturnType<typeof fields>) =>
      `URI: ${uri}\nVersion: 1\nChain ID: ${wallet.chainId.split(':')[1]}\nNonce: ${nonce}\nIssued At: ${issuedAt}`;

    it.each(wallets.flatMap(([name, wallet]) => [1, 2].map((lines) => [name, wallet, lines] as const)))(
      'accepts %s that signed without a statement and %s, %i empty lines',
      async (_name, wallet, lines) => {
        const sent = fields();
        const kind = wallet.family === 'eip155' ? 'Ethereum' : 'Solana';
        const head = `${sent.domain} wants you to sign in with your ${kind} account:\n${wallet.address}`;
        const text = `${head}${'\n'.repeat(lines + 1)}${tail(wallet, sent)}`;
        const header = encodeSignIn(await unpacked(wallet, sent, text));
        await expect(verify(header)).resolves.toMatchObject({ nonce: sent.nonce });
      },
    );

    it('accepts them with a statement, resources and nulls', async () => {
      const sent = { ...fields(), statement: 'Hello', requestId: null, resources: ['https://a.example'] };
      const head = `${sent.domain} wants you to sign in with your Ethereum account:\n${evm.address}\n\nHello\n\n`;
      const text = `${head}${tail(evm, sent)}\nResources:\n- https://a.example`;
      await expectAccepted(encodeSignIn(await unpacked(evm, sent, text)));
    });

    it('refuses a line break that would make another line', async () => {
      const sent = { ...fields(), statement: 'Hello\n\nURI: https://elsewhere.example' };
      const header = encodeSignIn(await unpacked(evm, sent, 'anything'));
      await expect(verify(header)).rejects.toEqual(refusal('statement must be one line'));
    });
  });

  describe('refuses', () => {
    it.each([
      ['another domain', { domain: 'evil.example' }, 'domain'],
      ['another port', { domain: '127.0.0.1:3001' }, 'domain'],
      ['no port', { domain: '127.0.0.1' }, 'domain'],
      ['a homograph of the domain', { domain: 'аpi.example.org', uri: 'https://api.example.org/' }, 'domain'],
      ['a longer domain', { domain: 'api.example.org.evil.example' }, 'domain'],
      ['another scheme before the domain', { domain: 'https://127.0.0.1:3000' }, 'scheme'],
      ['a URI elsewhere', { uri: 'http://evil.example/' }, 'URI'],
      ['a URI with another port', { uri: 'http://127.0.0.1:3001/' }, 'URI'],
      ['a URI with another scheme', { uri: 'https://127.0.0.1:3000/' }, 'URI'],
      ['a URI of another origin of ours', { uri: 'https://api.example.org/' }, 'URI'],
      ['a URI with a homograph', { domain: 'api.example.org', uri: 'https://аpi.example.org/' }, 'URI'],
      ['a URI with credentials', { uri: 'http://127.0.0.1:3000@evil.example/' }, 'URI'],
      ['a URI with a user', { uri: 'http://user@127.0.0.1:3000/' }, 'URI'],
      ['a URI with a backslash', { uri: String.raw`http://127.0.0.1:3000\@evil.example/` }, 'URI'],
      ['a URI that runs', { uri: 'javascript:alert(1)' }, 'URI'],
      ['another chain in the message', { chainReference: '1' }, 'another chain'],
      ['another chain', { chainReference: '1', members: { chainId: 1 } }, 'must be one of eip155:8453'],
      ['a message for Solana', { edit: (text: string) => text.replace('Ethereum', 'Solana') }, 'other kind'],
      ['another version', { edit: (text: string) => text.replace('Version: 1', 'Version: 2') }, 'version'],
      ['a short nonce', { nonce: 'abcdefg' }, 'nonce'],
      ['a long nonce', { nonce: 'a'.repeat(65) }, 'nonce'],
      ['an age of six minutes', { issuedAtMs: Date.now() - 360_000, expirationMs: null }, /Issued At.*s old.*clock/],
      ['a time in the future', { issuedAtMs: Date.now() + 60_000 }, /in the future by the clock here.*Here it is/],
      ['what has expired', { expirationMs: Date.now() - 1_000 }, /ended \d+ s ago.*Here it is/],
      ['a time that is none', { edit: (text: string) => text.replace(/Issued At: .*/, 'Issued At: now') }, 'Issued At'],
      ['a line in the wrong place', { edit: (text: string) => `${text}\nNonce: abcdefgh12345678` }, 'belong'],
      ['a second nonce in the statement', { statement: 'x\nNonce: abcdefgh12345678' }, 'empty line'],
      ['a tab', { statement: 'a\tb' }, 'control'],
      ['carriage returns', { edit: (text: string) => text.replaceAll('\n', '\r\n') }, 'control'],
      ['another address in the message', { address: solana.address }, 'another address'],
    ] as [string, Partial<SignInOptions>, RegExp | string][])('%s', async (_name, options, message) => {
      await expectRefused(evm, options, message);
    });

    it('what becomes valid later', async () => {
      const edit = (text: string) => `${text}\nNot Before: ${new Date(Date.now() + 60_000).toISOString()}`;
      await expectRefused(evm, { edit }, 'begins in');
    });

    it.each([
      ['a changed message', { message: 'x' }],
      ['the signature of another wallet', {}],
      ['an empty signature', { signature: '' }],
      ['zeros', { signature: `0x${'0'.repeat(130)}` }],
      ['numbers outside the curve', { signature: `0x${'f'.repeat(128)}1b` }],
      ['no hex', { signature: `0x${'g'.repeat(130)}` }],
      ['a signature for the other kind of chain', { type: 'ed25519' }],
      ['a kind nobody knows', { type: 'toString' }],
      ['a number as the address', { address: 5 }],
      ['a list as the message', { message: ['x'] }],
      ['a negative chain', { chainId: -1 }],
      ['a chain that is a fraction', { chainId: 8453.5 }],
      ['a chain that is infinite', { chainId: '1e400' }],
      ['a text as the timestamp', { timestamp: 'now' }],
    ])('%s', async (_name, members) => {
      const other = await signInMembers(evmWallet(), { origin });
      const sent = { ...(await signInMembers(evm, { origin })), signature: other.signature, ...members };
      await expect(verify(encodeSignIn(sent))).rejects.toEqual(refusal(/./));
    });

    it('a Solana signature of something else', async () => {
      const { signature } = await signInMembers(solana, { origin, nonce: 'abcdefgh12345678' });
      const header = await signInHeader(solana, { origin, members: { signature } });
      await expect(verify(header)).rejects.toEqual(refusal('signature is not that'));
    });

    it.each([
      ['nothing', ''],
      ['no base64', '%%%'],
      ['base64 of no text', Buffer.from([0xff, 0xfe]).toString('base64')],
      ['base64 of no JSON', Buffer.from('{').toString('base64')],
      ['a list', encodeSignIn([])],
      ['null', Buffer.from('null').toString('base64')],
      ['nothing in it', encodeSignIn({})],
      ['members of a prototype', Buffer.from('{"__proto__":{"address":"x"}}').toString('base64')],
      ['more than a header may be', 'A'.repeat(12_289)],
      ['a deep list', Buffer.from('['.repeat(9_000)).toString('base64')],
    ])('a header with %s', async (_name, header) => {
      await expect(verify(header)).rejects.toEqual(refusal(/./));
    });

    it('a contract wallet, since no node is configured', async () => {
      const members = { signature: `0x${'12'.repeat(90)}` };
      await expectRefused(evm, { members }, 'no node of that chain is configured');
    });
  });

  it('answers 1,000 mutations of valid headers with refusals, never with another error', async () => {
    const random = seededRandom(30);
    const pick = (count: number) => Math.floor(random() * count);
    const headers = await Promise.all(wallets.map(([, wallet]) => signInHeader(wallet, { origin })));
    for (let run = 0; run < 1_000; run += 1) {
      const header = headers[run % headers.length]!;
      const bytes = Buffer.from(run % 2 === 0 ? header : Buffer.from(header, 'base64'));
      for (let left = 1 + pick(4); left > 0; left -= 1) bytes[pick(bytes.length)] = pick(256);
      const mutated = run % 2 === 0 ? bytes.toString('latin1') : bytes.toString('base64');
      // A change of what nobody signs, such as the timestamp, leaves a sign-in valid.
      const result = await verify(mutated).catch((error: unknown) => error);
      if (!(result instanceof Error)) expect(result).toMatchObject({ wallet: expect.any(String) as string });
      else expect(result).toMatchObject({ code: 'X402_INVALID_SIGN_IN' });
    }
  });
});
