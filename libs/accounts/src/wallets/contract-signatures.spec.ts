import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeFunctionData, hashMessage, parseAbi, serializeErc6492Signature } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OperatorClient } from '#egress';
import { evmWallet, signInHeader, signInText } from '#test/wallet-sign-ins';
import { ContractSignatures } from './contract-signatures.js';
import { SignInVerifier } from './sign-in-verifier.js';

const origin = 'http://127.0.0.1:3000';
const magic = `0x1626ba7e${'0'.repeat(56)}`;
const wallet = evmWallet();
const long = `0x${'12'.repeat(90)}` as const;

/** A node that answers every call the same and keeps what it was asked. */
let node: Server;
let answer: { status: number; body: string };
let asked: { method: string; params: [{ to?: string; data: string }, string] }[];
let verifier: SignInVerifier;

beforeAll(async () => {
  node = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      asked.push(JSON.parse(body) as (typeof asked)[number]);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const contracts = new ContractSignatures(new Map([['eip155:8453', url]]), new OperatorClient());
  verifier = new SignInVerifier({ origins: [origin], chains: ['eip155:8453'] }, contracts);
});

afterAll(() => {
  node.close();
});

beforeEach(() => {
  asked = [];
});

const returns = (result: string) => {
  answer = { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: 1, result }) };
};

async function resultOf(members: Record<string, unknown>): Promise<unknown> {
  const header = await signInHeader(wallet, { origin, nonce: 'abcdefgh12345678', members });
  return await verifier.verify(header, Date.now()).then(
    ({ wallet: address }) => address,
    ({ code }: { code: string }) => code,
  );
}

describe('ContractSignatures', () => {
  it('asks the contract as EIP-1271 says', async () => {
    returns(magic);
    const issuedAtMs = Date.now();
    const options = { origin, nonce: 'abcdefgh12345678', issuedAtMs };
    const header = await signInHeader(wallet, { ...options, members: { signature: long } });
    await expect(verifier.verify(header, Date.now())).resolves.toMatchObject({ wallet: wallet.address.toLowerCase() });
    const data = encodeFunctionData({
      abi: parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']),
      args: [hashMessage(signInText(wallet, options)), long],
    });
    expect(asked).toMatchObject([
      { method: 'eth_call', params: [{ to: wallet.address.toLowerCase(), data }, 'latest'] },
    ]);
  });

  it('runs the validator of EIP-6492 for a wallet that is not deployed', async () => {
    const factory = { address: `0x${'1'.repeat(40)}`, data: '0x1234', signature: long } as const;
    const members = { signature: serializeErc6492Signature(factory) };
    returns('0x01');
    expect(await resultOf(members)).toBe(wallet.address.toLowerCase());
    returns('0x00');
    expect(await resultOf(members)).toBe('X402_INVALID_SIGN_IN');
    expect(asked.map(({ params: [call] }) => 'to' in call)).toEqual([false, false]);
  });

  it.each([
    ['zeros', `0x${'0'.repeat(64)}`],
    ['the magic value and more', `0x1626ba7e${'1'.repeat(56)}`],
    ['nothing, as an address without a contract does', '0x'],
  ])('refuses when the contract returns %s', async (_name, result) => {
    returns(result);
    expect(await resultOf({ signature: long })).toBe('X402_INVALID_SIGN_IN');
  });

  it('refuses when the call fails in the chain', async () => {
    answer = { status: 200, body: '{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"reverted"}}' };
    expect(await resultOf({ signature: long })).toBe('X402_INVALID_SIGN_IN');
  });

  it.each(['null', '[]', '{', '{"result":5}'])('says that it could not ask when the node answers %s', async (body) => {
    answer = { status: 200, body };
    expect(await resultOf({ signature: long })).toBe('SERVICE_UNAVAILABLE');
    answer = { status: 500, body };
    expect(await resultOf({ signature: long })).toBe('SERVICE_UNAVAILABLE');
  });

  it('asks about 65 bytes only where the sign-in says that a contract judges them', async () => {
    returns(magic);
    const { signature } = { signature: await evmWallet().sign('something') };
    expect(await resultOf({ signature })).toBe('X402_INVALID_SIGN_IN');
    expect(asked).toEqual([]);
    expect(await resultOf({ signature, type: 'eip191', signatureScheme: 'eip1271' })).toBe(
      wallet.address.toLowerCase(),
    );
    expect(await resultOf({ signature, type: 'eip1271' })).toBe(wallet.address.toLowerCase());
  });

  it('does not ask about the key of a plain account', async () => {
    returns(magic);
    expect(await resultOf({})).toBe(wallet.address.toLowerCase());
    expect(asked).toEqual([]);
  });
});
