import { afterEach, describe, expect, it } from 'vitest';
import { transportsFor } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { RpcNode } from '#test/rpc-node';
import { stopConsistently } from '#test/stop-consistently';

/* What becomes of the money of calls when a process dies, on both stores. */

let node: RpcNode;
let platform: Platform;

afterEach(async () => {
  await stopConsistently(platform, 60_000);
  await node.close();
});

async function post(id: number): Promise<Response> {
  return await fetch(`${platform.baseUrl}/crypto/rpc/ethereum-mainnet`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_gasPrice', params: [] }),
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
  });
}

const balanceStatement = `SELECT usd_nano, diem_held_nano + bundled_held_nano + usd_held_nano AS held FROM balances`;
const balances = () => platform.query<{ usd_nano: string; held: string }>(balanceStatement);

describe.each(transportsFor('redis'))('calls of nodes with the queue in %s', (transport) => {
  it('charge what was answered once, also when the api is told to stop', async () => {
    node = await RpcNode.start();
    const api = { SLUICE_RPC_UPSTREAMS: `ethereum-mainnet=${node.url}`, SLUICE_RPC_CONCURRENT: '4' };
    platform = await startPlatform({ transport, processEnv: { api } });
    const [before] = await balances();
    for (let id = 0; id < 30; id += 1) expect((await post(id)).status).toBe(200);
    await platform.kill('api', 'SIGTERM');
    const [after] = await balances();
    expect([BigInt(before?.usd_nano ?? 0) - BigInt(after?.usd_nano ?? 0), after?.held]).toEqual([
      30n * 20n * 700n,
      '0',
    ]);
    await platform.start('api');

    // A block with an answered and a running call: the process dies with it.
    for (let id = 0; id < 3; id += 1) await post(id);
    node.habit = 'hang';
    const asked = node.bodies.length;
    const running = [post(8), post(9)].map((response) => response.catch(() => null));
    await expect.poll(() => node.bodies.length, { timeout: 10_000 }).toBe(asked + 2);
    await platform.kill('api');
    await Promise.all(running);
    const [dead] = await balances();
    expect(BigInt(dead?.held ?? 0)).toBeGreaterThan(0n);
    await platform.query(`UPDATE jobs SET deadline_at = now() - interval '1 hour' WHERE state = 'queued'`);
    await platform.closedJobs(60_000);
    const [released] = await balances();
    // What was answered and not yet charged is the customer's; never is anything charged that was not answered.
    const charged = BigInt(after?.usd_nano ?? 0) - BigInt(released?.usd_nano ?? 0);
    expect(charged).toBeLessThanOrEqual(3n * 20n * 700n);
    expect(released?.held).toBe('0');
    node.habit = 'orderly';
    await platform.start('api');
    expect((await post(1)).status).toBe(200);
  }, 180_000);
});
