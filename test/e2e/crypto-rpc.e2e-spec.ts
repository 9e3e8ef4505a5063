import { createPublicClient, http } from 'viem';
import { mainnet } from 'viem/chains';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { RpcNode } from '#test/rpc-node';
import { stopConsistently } from '#test/stop-consistently';

/* Calls of blockchain nodes through the whole platform; two nodes on loopback are those of the operator. */

let nodes: [RpcNode, RpcNode];
let platform: Platform;

beforeAll(async () => {
  nodes = [await RpcNode.start(), await RpcNode.start()];
  const upstreams = nodes.map(({ url }) => `ethereum-mainnet=${url}`);
  const api = {
    SLUICE_RPC_UPSTREAMS: [...upstreams, `base-mainnet=${nodes[0].url}`].join('\n'),
    SLUICE_RPC_DAILY_CREDITS: '20000',
    SLUICE_RPC_TIMEOUT_MS: '10000',
  };
  platform = await startPlatform({ processEnv: { api }, limits: 'contract' });
});
afterAll(async () => {
  await stopConsistently(platform);
  await Promise.all(nodes?.map((node) => node.close()) ?? []);
});
beforeEach(() => {
  for (const node of nodes) [node.habit, node.status, node.body, node.pause] = ['orderly', 200, null, null];
});

const call = (changes: object = {}) => ({ jsonrpc: '2.0', id: 7, method: 'eth_gasPrice', params: [], ...changes });

async function post(
  body: unknown,
  { network = 'ethereum-mainnet', headers = {} }: { network?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return await fetch(`${platform.baseUrl}/crypto/rpc/${network}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json', ...headers },
  });
}

/** The job of a response, closed, and what it cost. */
async function jobOf(response: Response): Promise<unknown> {
  await platform.closedJobs();
  const [row] = await platform.query(
    `SELECT jobs.state, jobs.error_code, jobs.model_id, holds.charged_nano FROM jobs
       JOIN holds ON holds.request_id = jobs.request_id WHERE jobs.request_id = $1`,
    [response.headers.get('cf-ray')],
  );
  return row;
}

/** What all requests have cost, once their blocks are charged. */
async function spentNano(): Promise<bigint> {
  await platform.closedJobs();
  const [row] = await platform.query<{ spent: string }>(
    `SELECT COALESCE(sum(charged_nano), 0)::text AS spent FROM holds`,
  );
  return BigInt(row?.spent ?? 0);
}

const free = { state: 'failed', charged_nano: '0' };

/** Empties the minute of the account, so that tests do not use up each other's requests. */
async function forgetLimits(): Promise<void> {
  await platform.query(`DELETE FROM rate_limit_windows`);
}

describe('crypto RPC', () => {
  beforeEach(forgetLimits);

  it('lists 25 networks without a key', async () => {
    const response = await fetch(`${platform.baseUrl}/crypto/rpc/networks`);
    const { networks } = (await response.json()) as { networks: string[] };
    expect([response.status, networks.length, networks]).toEqual([200, 25, networks.toSorted()]);
  });

  it('passes a call and its answer as bytes, and charges its credits', async () => {
    nodes[0].answers.set('eth_call', '{"rentEpoch":18446744073709551615, "x":1.0}');
    const body = '{ "jsonrpc":"2.0","id":18446744073709551615,"method":"eth_call", "params":[18446744073709551615]}';
    const response = await post(body);
    // The node's own library rounds the id; the answer has that of the call.
    expect([response.status, await response.text()]).toEqual([
      200,
      '{"jsonrpc":"2.0","id":18446744073709551615,"result":{"rentEpoch":18446744073709551615, "x":1.0}}',
    ]);
    expect(nodes[0].bodies.at(-1)).toBe(body);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-service-rpc-credits': '20',
      'x-service-rpc-cost-usd': '0.00001400',
      'x-request-id': response.headers.get('cf-ray'),
    });
    expect(await jobOf(response)).toEqual({
      state: 'succeeded',
      error_code: null,
      model_id: 'crypto-rpc-ethereum-mainnet',
      charged_nano: '14000',
    });
  });

  it('answers a batch in its order, and sums its credits', async () => {
    nodes[0].habit = 'reverse';
    const response = await post([call({ id: 1 }), call({ id: 'b', method: 'debug_traceCall' }), call({ id: null })]);
    const answers = (await response.json()) as { id: unknown; error?: { code: number } }[];
    expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, undefined],
      ['b', -32_601],
      [null, undefined],
    ]);
    expect(response.headers.get('x-service-rpc-credits')).toBe('45');
    expect(await jobOf(response)).toMatchObject({ charged_nano: '31500' });
  });

  it('repeats a response for its idempotency key, without a second call or charge', async () => {
    const headers = { 'idempotency-key': 'rpc-once' };
    const first = await post(call(), { headers });
    const asked = nodes[0].bodies.length;
    const second = await post(call(), { headers });
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect([await second.text(), second.headers.get('x-service-rpc-credits')]).toEqual([await first.text(), '20']);
    const other = await post(call({ id: 8 }), { headers });
    expect([other.status, await other.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
    expect([nodes[0].bodies.length, await jobOf(second)]).toEqual([asked, undefined]);
  });

  it('costs nothing when no node answers, and sends no transaction twice', async () => {
    await post(call());
    nodes.forEach((node) => node.bodies.splice(0));
    nodes[0].habit = 'drop';
    const sent = await post(call({ method: 'eth_sendRawTransaction', params: ['0x02'] }));
    expect([sent.status, await sent.json()]).toMatchObject([
      503,
      { error: expect.stringContaining('may have been sent') },
    ]);
    expect(sent.headers.get('x-should-retry')).toBe('false');
    expect(nodes.map(({ bodies }) => bodies.length)).toEqual([1, 0]);
    nodes[1].habit = 'drop';
    const read = await post(call());
    const text = await read.text();
    expect([read.status, text.includes('127.0.0.1'), text.includes('secret')]).toEqual([503, false, false]);
    // The second request had its credits from the block of the first, or from one of its own.
    expect([await jobOf(sent), (await jobOf(read)) ?? free]).toMatchObject([free, free]);
    expect(platform.log()).not.toContain('node-secret-key');
  });

  it('tells callers only that a network is not available, and the operator why', async () => {
    for (const [network, reason] of [
      ['solana-mainnet', 'set solana-mainnet=URL in SLUICE_RPC_UPSTREAMS'],
      ['base-mainnet', 'it answers for chain 1, not 8453'],
    ] as const) {
      const method = network === 'solana-mainnet' ? 'getBalance' : 'eth_gasPrice';
      const response = await post(call({ method }), { network });
      const text = await response.text();
      expect([response.status, text.includes('SLUICE')]).toEqual([503, false]);
      expect(platform.log()).toContain(reason);
    }
  });

  it('writes neither calls nor answers to the log', async () => {
    nodes[0].answers.set('eth_getCode', 'error:{"code":-32000,"message":"planted-answer"}');
    await post(call({ method: 'eth_getCode', params: ['planted-param'] }));
    await post(call({ method: 'planted-method', params: ['planted-param'] }));
    expect(platform.log()).not.toContain('planted');
  });

  it('needs a key, JSON and a known network', async () => {
    const anonymous = await fetch(`${platform.baseUrl}/crypto/rpc/ethereum-mainnet`, { method: 'POST' });
    const unknown = await post(call(), { network: 'dogecoin-mainnet' });
    const form = await post('a=b', { headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    expect([anonymous.status, unknown.status, form.status]).toEqual([401, 400, 415]);
    expect(await unknown.json()).toMatchObject({ error: 'Unsupported RPC network' });
    const socket = await fetch(`${platform.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      headers: { authorization: `Bearer ${platform.inferenceKey}` },
    });
    expect(socket.status).toBe(405);
  });

  it('passes a long answer on while it arrives, and charges it when it is whole', async () => {
    const long = 'x'.repeat(400_000);
    nodes[0].answers.set('eth_getLogs', `"${long}"`);
    nodes[0].pause = 300_000;
    const before = await spentNano();
    const headers = { 'accept-encoding': 'gzip, br' };
    const response = await post(call({ method: 'eth_getLogs' }), { headers });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString('utf8', 0, 40)).toBe('{"jsonrpc":"2.0","id":7,"result":"xxxxxx');
    expect([response.status, response.headers.get('x-service-rpc-credits')]).toEqual([200, '20']);
    nodes[0].resume();
    let length = first?.value?.length ?? 0;
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      length += next.value.length;
    expect(length).toBe('{"jsonrpc":"2.0","id":7,"result":""}'.length + long.length);
    nodes[0].pause = null;
    expect(await spentNano()).toBe(before + 14_000n);
  });

  it('charges nothing for a long answer whose node dies in the middle of it', async () => {
    nodes[0].answers.set('eth_getLogs', `"${'x'.repeat(400_000)}"`);
    const before = await spentNano();
    nodes[0].pause = 300_000;
    const response = await post(call({ method: 'eth_getLogs' }));
    expect(response.status).toBe(200);
    const read = response.text();
    nodes[0].cut();
    await expect(read).rejects.toThrow();
    nodes[0].pause = null;
    expect(await spentNano()).toBe(before);
    expect((await post(call())).status).toBe(200);
  });

  it('serves a client that others wrote', async () => {
    const transport = http(`${platform.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      batch: true,
      fetchOptions: { headers: { authorization: `Bearer ${platform.inferenceKey}` } },
    });
    const client = createPublicClient({ chain: mainnet, transport });
    nodes[0].height = 4_711;
    nodes[0].answers.set('eth_getBalance', '"0xffffffffffffffffffffffffffffffff"');
    const address = '0x0000000000000000000000000000000000000001';
    expect(await Promise.all([client.getBlockNumber(), client.getGasPrice(), client.getBalance({ address })])).toEqual([
      4_711n,
      1_000_000_000n,
      2n ** 128n - 1n,
    ]);
    nodes[0].answers.set('eth_getLogs', 'error:{"code":-32005,"message":"query returned more than 10000 results"}');
    await expect(client.getLogs()).rejects.toThrow('query returned more than 10000 results');
  });
});

describe('hostile bodies', () => {
  const megabyte = 'x'.repeat(1_000_000);

  it.each([
    ['nothing', '', 400],
    ['no JSON', '{"id":1,', 400],
    ['a number', '1', 400],
    ['null', 'null', 400],
    ['an empty batch', '[]', 400],
    ['a batch of 101', JSON.stringify(Array.from({ length: 101 }, (_, id) => call({ id }))), 400],
    ['a method of a megabyte', JSON.stringify(call({ method: megabyte })), 400],
    ['an id of a megabyte', JSON.stringify(call({ id: megabyte })), 400],
    ['a member of a megabyte', JSON.stringify(call({ [megabyte]: 1 })), 400],
    ['more than a megabyte', JSON.stringify(call({ params: [megabyte, megabyte] })), 413],
    ['deep params', `{"id":1,"method":"eth_call","params":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, 413],
    ['a number without end', `{"id":${'9'.repeat(100_000)},"method":"eth_call"}`, 400],
    ['half a surrogate pair', '{"id":"\\ud800","method":"eth_call"}', 400],
    ['two methods', '{"id":1,"method":"eth_call","method":"admin_peers"}', 400],
    ['a method in capitals', '{"id":1,"method":"eth_call","METHOD":"admin_peers"}', 400],
    ['a prototype', '{"id":1,"method":"eth_call","__proto__":{}}', 400],
  ])('of %s are refused and cost nothing', async (_name, body, status) => {
    await platform.query(`DELETE FROM rate_limit_windows`);
    const asked = nodes.map(({ bodies }) => bodies.length);
    const response = await post(body);
    expect([response.status, await jobOf(response)]).toEqual([status, undefined]);
    expect(nodes.map(({ bodies }) => bodies.length)).toEqual(asked);
  });
});

describe('the limits', () => {
  beforeEach(forgetLimits);

  it('refuse the 101st request of a minute, naming the limit', async () => {
    for (let round = 0; round < 100; round += 1) expect((await post(call())).status).toBe(200);
    const response = await post(call());
    expect([response.status, await response.json()]).toMatchObject([
      429,
      { code: 'RATE_LIMIT_EXCEEDED', customMessage: expect.stringContaining('100 requests per minute') },
    ]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '0',
    });
    const reset = Number(response.headers.get('x-ratelimit-reset')) - Date.now() / 1_000;
    expect(reset).toBeGreaterThan(-1);
    expect(reset).toBeLessThan(62);
  }, 120_000);

  it('refuse what exceeds the credits of a day, and count what calls have cost', async () => {
    // 100 calls reserve 8,000 credits; those that fail cost 500.
    const calls = Array.from({ length: 100 }, (_, id) => call({ id, method: 'trace_replayTransaction' }));
    const statuses = [];
    for (let round = 0; round < 3; round += 1) statuses.push((await post(calls)).status);
    expect(statuses).toEqual([200, 200, 200]);
    nodes[0].answers.set('trace_replayTransaction', '{}');
    for (let round = 0; round < 2; round += 1) expect((await post(calls)).status).toBe(200);
    const response = await post(calls);
    nodes[0].answers.delete('trace_replayTransaction');
    expect([response.status, await response.json()]).toMatchObject([
      429,
      { customMessage: expect.stringContaining('20,000 credits in 24 hours, of which 2,500 are left') },
    ]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-ratelimit-limit': '20000',
      'x-ratelimit-remaining': '2500',
    });
  });

  it('run the requests of an account one after the other', async () => {
    await post(call());
    nodes[0].habit = 'hang';
    const client = new AbortController();
    const hanging = fetch(`${platform.baseUrl}/crypto/rpc/ethereum-mainnet`, {
      method: 'POST',
      signal: client.signal,
      body: JSON.stringify(call()),
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    }).catch(() => null);
    const asked = nodes[0].bodies.length;
    await expect.poll(() => nodes[0].bodies.length, { timeout: 10_000 }).toBe(asked + 1);
    const response = await post(call());
    expect([response.status, await response.json()]).toMatchObject([
      429,
      { code: 'CONCURRENCY_LIMIT_EXCEEDED', customMessage: expect.stringContaining('another request of this account') },
    ]);
    expect(response.headers.get('x-ratelimit-limit')).toBe('1');
    client.abort();
    await hanging;
    nodes[0].habit = 'orderly';
    expect((await post(call())).status).toBe(200);
  }, 30_000);
});
