import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OnchainStakeVerifier } from './onchain-stake-verifier.js';
import { AllowListedStakes } from './stake-verifier.js';

const wallet = '0x52908400098527886e0f7030069857d2e4169ee7';
const contract = `0x${'c0'.repeat(20)}`;

interface Call {
  method: string;
  params: [{ to: string; data: string }];
}

/** A chain node that serves one contract. */
class FakeNode {
  readonly calls: Call[] = [];
  stakes = new Map<string, bigint>();
  broken = false;
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => response.writeHead(200).end(this.answer(text)));
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(text: string): string {
    const call = JSON.parse(text) as Call & { id: number };
    this.calls.push(call);
    if (this.broken) return JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code: 3, message: 'no' } });
    const stake = this.stakes.get(`0x${call.params[0].data.slice(-40)}`) ?? 0n;
    return JSON.stringify({ jsonrpc: '2.0', id: call.id, result: `0x${stake.toString(16).padStart(64, '0')}` });
  }
}

let node: FakeNode;
let stakes: OnchainStakeVerifier;

beforeEach(async () => {
  node = new FakeNode();
  stakes = new OnchainStakeVerifier({ rpcUrl: await node.open(), contract });
});

afterEach(() => node.close());

describe('OnchainStakeVerifier', () => {
  it('asks the contract for the balance of the address, and accepts any stake', async () => {
    expect(await stakes.hasStake(wallet)).toBe(false);
    node.stakes.set(wallet, 1n);
    expect(await stakes.hasStake(wallet)).toBe(true);
    // 0x70a08231 is balanceOf(address).
    expect(node.calls[0]).toMatchObject({
      method: 'eth_call',
      params: [{ to: contract, data: `0x70a08231${wallet.slice(2).padStart(64, '0')}` }, 'latest'],
    });
  });

  it('rejects when the chain returns an error, or does not respond', async () => {
    node.broken = true;
    await expect(stakes.hasStake(wallet)).rejects.toThrow();
    await node.close();
    await expect(stakes.hasStake(wallet)).rejects.toThrow();
  });
});

describe('AllowListedStakes', () => {
  it("accepts the operator's addresses in any case, and asks the chain about all others", async () => {
    const listed = new AllowListedStakes([wallet.toUpperCase().replace('0X', '0x')], stakes);
    expect(await listed.hasStake(wallet)).toBe(true);
    expect(node.calls).toEqual([]);
    const other = `0x${'ab'.repeat(20)}`;
    node.stakes.set(other, 5n);
    expect(await listed.hasStake(other)).toBe(true);
  });

  it('finds no stake without a chain', async () => {
    expect(await new AllowListedStakes([]).hasStake(wallet)).toBe(false);
  });
});
