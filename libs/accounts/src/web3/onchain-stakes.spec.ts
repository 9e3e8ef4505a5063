import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OnchainStakes } from './onchain-stakes.js';

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
  /** As a chain on which the address is not a contract. */
  isEmpty = false;
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
    if (this.isEmpty) return JSON.stringify({ jsonrpc: '2.0', id: call.id, result: '0x' });
    const stake = this.stakes.get(`0x${call.params[0].data.slice(-40)}`) ?? 0n;
    return JSON.stringify({ jsonrpc: '2.0', id: call.id, result: `0x${stake.toString(16).padStart(64, '0')}` });
  }
}

let node: FakeNode;
let stakes: OnchainStakes;

beforeEach(async () => {
  node = new FakeNode();
  stakes = new OnchainStakes({ rpcUrl: await node.open(), contract });
});

afterEach(() => node.close());

describe('OnchainStakes', () => {
  it('asks the contract for the balance of the address', async () => {
    expect(await stakes.stakeOf(wallet)).toBe(0n);
    node.stakes.set(wallet, 2n ** 200n);
    expect(await stakes.stakeOf(wallet)).toBe(2n ** 200n);
    // 0x70a08231 is balanceOf(address).
    expect(node.calls[0]).toMatchObject({
      method: 'eth_call',
      params: [{ to: contract, data: `0x70a08231${wallet.slice(2).padStart(64, '0')}` }, 'latest'],
    });
  });

  it('rejects when the chain returns an error, has no such contract, or does not respond', async () => {
    node.broken = true;
    await expect(stakes.stakeOf(wallet)).rejects.toThrow();
    node.broken = false;
    node.isEmpty = true;
    await expect(stakes.stakeOf(wallet)).rejects.toThrow();
    await node.close();
    await expect(stakes.stakeOf(wallet)).rejects.toThrow();
  });
});
