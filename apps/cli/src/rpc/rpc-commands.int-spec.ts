import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { RpcNode } from '#test/rpc-node';

let node: RpcNode;

beforeAll(async () => {
  node = await RpcNode.start();
});
afterAll(() => node.close());

const run = (line: string[], upstreams?: string) =>
  runCommandLine(['rpc', ...line], upstreams === undefined ? {} : { SLUICE_RPC_UPSTREAMS: upstreams });

describe('sluice rpc', () => {
  it('lists the networks, and shows no URL', async () => {
    const text = await run(['list'], `ethereum-mainnet=${node.url} ethereum-mainnet=${node.url}#archive`);
    expect(text.split('\n')).toHaveLength(27);
    expect(text).toMatch(/^ethereum-mainnet +2 +1$/m);
    expect(text).toMatch(/^solana-mainnet +0 +0$/m);
    expect(text).not.toContain('secret');
    expect(JSON.parse(await run(['list', '--json']))).toContainEqual({ network: 'base-mainnet', nodes: 0, archive: 0 });
  });

  it('asks each node for its chain and height', async () => {
    expect(await run(['test'], `ethereum-mainnet=${node.url}#archive`)).toMatch(
      /^ethereum-mainnet #1 \(127\.0\.0\.1:\d+\): block 100, \d+ ms, archive\n$/,
    );
    const upstreams = `ethereum-mainnet=${node.url} base-mainnet=${node.url} base-mainnet=http://127.0.0.1:9/`;
    expect(await run(['test', 'ethereum-mainnet'], upstreams)).toContain('block 100');
    await expect(run(['test'], upstreams)).rejects.toThrow('2 of 3 nodes cannot be used.');
  });

  it('says what to set, and which networks there are', async () => {
    await expect(run(['test'])).rejects.toThrow('SLUICE_RPC_UPSTREAMS');
    await expect(run(['test', 'dogecoin'], `base-mainnet=${node.url}`)).rejects.toThrow('no network dogecoin');
  });
});
