import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RpcUpstreamSettings } from '#platform/config';
import { RpcNode } from '#test/rpc-node';
import { readCalls } from './json/read-calls.js';
import { RpcProxy } from './rpc-proxy.js';

/* The proxy against nodes on loopback that behave well and badly. */

let nodes: RpcNode[];
let proxy: RpcProxy;
let logged: { level: string; text: string }[];

const never = new AbortController().signal;

beforeEach(async () => {
  nodes = [await RpcNode.start(), await RpcNode.start()];
  logged = [];
});
afterEach(async () => {
  await proxy.close();
  await Promise.all(nodes.map((node) => node.close()));
});

const node = (index: number): RpcNode => nodes[index] as RpcNode;

type Given = Partial<RpcUpstreamSettings> & { url: string };

function open(upstreams: Given[] = nodes.map(({ url }) => ({ url })), timeoutMs = 2_000, hedgeMs = 0): void {
  const note = (level: string) => (entry: object, message?: string) =>
    void logged.push({ level, text: `${message} ${JSON.stringify(entry)}` });
  proxy = new RpcProxy({
    settings: {
      timeoutMs,
      hedgeMs,
      upstreams: upstreams.map((given) => ({ network: 'ethereum-mainnet', isArchive: false, ...given })),
    },
    logger: { warn: note('warn'), error: note('error') } as unknown as ConstructorParameters<
      typeof RpcProxy
    >[0]['logger'],
  });
}

async function ask(body: unknown, signal = never): Promise<{ text: string; credits: number }> {
  const network = proxy.resolve('ethereum-mainnet');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { bytes, credits } = await proxy.call(network, readCalls(Buffer.from(text), network), { signal });
  return { text: bytes.toString(), credits };
}

const read = { jsonrpc: '2.0', id: 7, method: 'eth_gasPrice', params: [] };
const send = { jsonrpc: '2.0', id: 7, method: 'eth_sendRawTransaction', params: ['0x02'] };
const gasPrice = { text: '{"jsonrpc":"2.0","id":7,"result":"0x3b9aca00"}', credits: 20 };
const dead = { url: 'http://127.0.0.1:9/v2/node-secret-key' };

describe('the proxy', () => {
  it('passes bytes both ways', async () => {
    open();
    node(0).answers.set('eth_call', '{"rentEpoch":18446744073709551615, "x":1.0}');
    const body = '{ "id":7,"method":"eth_call", "params":[18446744073709551615,1.0]}';
    expect((await ask(body)).text).toBe(
      '{"jsonrpc":"2.0","id":7,"result":{"rentEpoch":18446744073709551615, "x":1.0}}',
    );
    expect(node(0).bodies).toEqual([body]);
  });

  it('sends a batch to one node, whole, and returns its answers in order', async () => {
    open();
    node(0).habit = 'reverse';
    const calls = [1, 'b', 3].map((id) => ({ ...read, id }));
    const { text, credits } = await ask(calls);
    expect((JSON.parse(text) as { id: unknown }[]).map(({ id }) => id)).toEqual([1, 'b', 3]);
    expect([credits, node(0).bodies.length, node(1).bodies.length]).toEqual([60, 1, 0]);
  });

  it('charges five credits for an error, which keeps its code, message and data', async () => {
    open();
    const error = '{"code":-32005,"message":"range too large","data":{"from":"0x1","max":1.0}}';
    node(0).answers.set('eth_getLogs', `error:${error}`);
    const { text, credits } = await ask([read, { ...read, id: 8, method: 'eth_getLogs' }]);
    expect([text.includes(`"error":${error}`), credits]).toEqual([true, 25]);
    expect(node(1).bodies).toEqual([]);
  });

  it('tells callers nothing of a node in its errors', async () => {
    open();
    node(0).answers.set(
      'eth_gasPrice',
      `error:{"code":-32000,"message":"${node(0).url} is over its limit at ${node(0).host}"}`,
    );
    const { text } = await ask(read);
    expect(text).toContain('is over its limit');
    expect(text).not.toMatch(/127\.0\.0\.1|secret/);
  });

  it.each([
    ['cannot be reached', () => undefined],
    ['drops connections', () => (node(0).habit = 'drop')],
    ['refuses its key', () => (node(0).status = 401)],
    ['is busy', () => (node(0).status = 503)],
    ['answers no JSON', () => (node(0).body = '<html>')],
  ])('asks the next node for a read when one %s, and tells the operator without the key', async (name, break_) => {
    open(name === 'cannot be reached' ? [dead, { url: node(1).url }] : undefined);
    await ask(read);
    if (name !== 'cannot be reached') node(1).bodies.splice(0);
    break_();
    expect(await ask(read)).toEqual(gasPrice);
    expect(node(1).bodies.length).toBeGreaterThan(0);
    expect(logged.map(({ text }) => text).join()).toContain('ethereum-mainnet #1 (127.0.0.1:');
    expect(logged.map(({ text }) => text).join()).not.toContain('secret');
  });

  it('asks a node once more whose connection ended, over a new one', async () => {
    open([{ url: node(0).url }]);
    await ask(read);
    node(0).habit = 'drop-once';
    expect(await ask(read)).toEqual(gasPrice);
    expect(node(0).bodies).toHaveLength(3);
  });

  it('asks the next node for a read when one is slow', async () => {
    open(undefined, 300);
    await ask(read);
    node(0).habit = 'hang';
    expect(await ask(read)).toEqual(gasPrice);
    expect(node(1).bodies).toHaveLength(1);
  });

  it.each([
    ['drops the connection', () => (node(0).habit = 'drop')],
    ['drops one connection', () => (node(0).habit = 'drop-once')],
    ['hangs', () => (node(0).habit = 'hang')],
    ['fails without an answer', () => ((node(0).status = 502), (node(0).body = '<html>'))],
  ])('never sends a transaction twice: not when a node %s', async (_name, break_) => {
    open(undefined, 300);
    await ask(read);
    break_();
    await expect(ask(send)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retry: 'never' });
    break_();
    await expect(ask([read, { ...send, id: 8 }])).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      retry: 'never',
    });
    expect(node(1).bodies).toEqual([]);
  });

  it('sends a transaction to the next node if the first one cannot have seen it', async () => {
    nodes.forEach(({ answers }) => answers.set('eth_sendRawTransaction', '"0xhash"'));
    open();
    await ask(read);
    node(0).status = 401;
    expect((await ask(send)).text).toContain('0xhash');
    await node(0).close();
    expect((await ask(send)).text).toContain('0xhash');
    expect(node(1).bodies).toHaveLength(2);
  });

  it('passes the error of a node that every other one confirms with a failure', async () => {
    open();
    nodes.forEach((each) => {
      each.answers.set('eth_gasPrice', 'error:{"code":-32016,"message":"over rate limit"}');
    });
    await ask({ ...read, method: 'eth_chainId', id: 2 });
    nodes.forEach((each) => (each.status = 429));
    expect((await ask(read)).text).toContain('over rate limit');
  });

  it('asks no node of another chain, and tells the operator', async () => {
    node(0).chainId = '0x2105';
    open();
    expect(await ask(read)).toEqual(gasPrice);
    expect(node(0).bodies).toEqual([]);
    expect(logged).toMatchObject([
      { level: 'error', text: expect.stringMatching(/#1 .*chain 8453, not 1.*SLUICE_RPC_UPSTREAMS/) },
    ]);
    node(1).habit = 'drop';
    await expect(ask(read)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('prefers nodes that do not lag behind', async () => {
    [node(0).height, node(1).height] = [100, 110];
    open();
    await proxy.checkAll();
    await ask(read);
    expect([node(0).bodies.length, node(1).bodies.length]).toEqual([0, 1]);
  });

  it('asks an archive node once for a state that another one has discarded', async () => {
    node(0).answers.set('eth_getBalance', 'error:{"code":-32000,"message":"missing trie node 12ab"}');
    node(1).answers.set('eth_getBalance', '"0x5"');
    open([{ url: node(0).url }, { url: node(1).url, isArchive: true }]);
    await proxy.checkAll();
    const old = { ...read, method: 'eth_getBalance', params: ['0x0', '0x1'] };
    expect(await ask(old)).toEqual({ text: '{"jsonrpc":"2.0","id":7,"result":"0x5"}', credits: 20 });
    node(1).answers.set('eth_getBalance', 'error:{"code":-32000,"message":"no"}');
    expect((await ask(old)).credits).toBe(5);
    expect([node(0).bodies.length, node(1).bodies.length]).toEqual([2, 2]);
  });

  it('refuses an answer that is too large', async () => {
    open();
    node(0).answers.set('eth_getLogs', `"${'x'.repeat(17 * 1024 * 1024)}"`);
    await expect(ask({ ...read, method: 'eth_getLogs' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('16 MB'),
    });
    expect(node(1).bodies).toEqual([]);
  });

  describe('that hedges reads', () => {
    const openHedged = (): void => open(undefined, 2_000, 50);

    it('takes the answer of the second node when the first is slow, and leaves the first', async () => {
      openHedged();
      await proxy.checkAll();
      node(0).habit = 'hang';
      const startedMs = performance.now();
      expect(await ask([read])).toEqual({ text: `[${gasPrice.text}]`, credits: 20 });
      expect(performance.now() - startedMs).toBeLessThan(1_500);
      expect(nodes.map(({ bodies }) => bodies)).toEqual([[JSON.stringify([read])], [JSON.stringify([read])]]);
      expect(logged).toEqual([]);
    });

    it('asks one node while it is fast', async () => {
      openHedged();
      await proxy.checkAll();
      expect(await ask(read)).toEqual(gasPrice);
      expect(nodes.map(({ bodies }) => bodies.length)).toEqual([1, 0]);
    });

    it('never hedges what changes the chain', async () => {
      open(undefined, 300, 20);
      await proxy.checkAll();
      node(0).habit = 'hang';
      await expect(ask([read, { ...send, id: 8 }])).rejects.toMatchObject({ retry: 'never' });
      expect(node(1).bodies).toEqual([]);
    });

    it('waits for the first node when the second fails', async () => {
      openHedged();
      await proxy.checkAll();
      node(0).pause = 10;
      node(1).status = 503;
      setTimeout(() => node(0).resume(), 200);
      expect(await ask(read)).toEqual(gasPrice);
    });

    it('ends both with the caller', async () => {
      openHedged();
      await proxy.checkAll();
      node(0).habit = node(1).habit = 'hang';
      const caller = new AbortController();
      const asked = ask(read, caller.signal);
      setTimeout(() => caller.abort(new Error('gone')), 150);
      await expect(asked).rejects.toThrow('gone');
    });
  });

  describe('with a long answer', () => {
    const logs = { ...read, method: 'eth_getLogs' };
    const long = 'x'.repeat(300_000);

    async function stream(body: object): Promise<{ parts: AsyncIterable<Buffer>; credits: number } | null> {
      const network = proxy.resolve('ethereum-mainnet');
      const request = readCalls(Buffer.from(JSON.stringify(body)), network);
      const { rest, credits } = await proxy.call(network, request, { signal: never, streams: true });
      return rest === null ? null : { parts: rest.parts, credits };
    }
    async function textOf(parts: AsyncIterable<Buffer> | undefined): Promise<string> {
      const read: Buffer[] = [];
      for await (const part of parts ?? []) read.push(part);
      return Buffer.concat(read).toString();
    }

    it('passes it on before the node has ended it', async () => {
      open();
      node(0).answers.set('eth_getLogs', `"${long}"`);
      node(0).pause = 200_000;
      const answer = await stream(logs);
      expect(answer?.credits).toBe(20);
      const parts = answer?.parts[Symbol.asyncIterator]();
      const first = (await parts?.next()) as IteratorResult<Buffer>;
      expect(first.value.toString('utf8', 0, 40)).toBe('{"jsonrpc":"2.0","id":7,"result":"xxxxxx');
      node(0).resume();
      const rest = await textOf({ [Symbol.asyncIterator]: () => parts as AsyncIterator<Buffer> });
      expect(first.value.length + rest.length).toBe('{"jsonrpc":"2.0","id":7,"result":""}'.length + long.length);
    });

    it.each([
      ['behind the result', `{"jsonrpc":"2.0","result":["${long}"],"id":18446744073709552000}`],
      ['in front', `{"id":18446744073709552000, "result":["${long}"]}\n`],
      ['nowhere', `{"jsonrpc":"2.0","result":["${long}"]}`],
    ])('gives it the id of the call where the id is %s', async (_name, body) => {
      open();
      node(0).body = body;
      const network = proxy.resolve('ethereum-mainnet');
      const bytes = Buffer.from('{"id":18446744073709551615,"method":"eth_getLogs"}');
      const { rest } = await proxy.call(network, readCalls(bytes, network), { signal: never, streams: true });
      const text = await textOf(rest?.parts);
      expect(text.match(/"id":\d+/g)).toEqual(['"id":18446744073709551615']);
      expect(JSON.parse(text)).toMatchObject({ result: [long] });
    });

    it('reads errors, batches and sends whole', async () => {
      open();
      node(0).answers.set('eth_getLogs', `error:{"code":-32000,"message":"${long}"}`);
      node(0).answers.set('eth_sendRawTransaction', `"${long}"`);
      expect(await stream(logs)).toBeNull();
      expect(await stream(send)).toBeNull();
      node(0).answers.set('eth_getLogs', `"${long}"`);
      expect(await stream([logs])).toBeNull();
    });

    it.each([
      ['dies', () => node(0).cut()],
      ['ends it early', () => node(0).resume(false)],
    ])('fails when the node %s in the middle of it', async (_name, end) => {
      open();
      node(0).answers.set('eth_getLogs', `"${long}"`);
      node(0).pause = 200_000;
      const answer = await stream(logs);
      const read = textOf(answer?.parts);
      end();
      await expect(read).rejects.toThrow();
    });

    it('cuts it behind 16 MB', async () => {
      open();
      node(0).answers.set('eth_getLogs', `"${'x'.repeat(17 * 1024 * 1024)}"`);
      const answer = await stream(logs);
      await expect(textOf(answer?.parts)).rejects.toMatchObject({ fault: 'too-large' });
    });
  });

  it('leaves with its caller', async () => {
    open();
    await ask(read);
    node(0).habit = 'hang';
    const caller = new AbortController();
    const asked = ask(read, caller.signal);
    setTimeout(() => caller.abort(new Error('gone')), 50);
    await expect(asked).rejects.toThrow('gone');
    expect(node(1).bodies).toEqual([]);
  });

  it('says that a network has no node: to the operator only, what to set', async () => {
    open([]);
    const network = proxy.resolve('base-mainnet');
    const refusal = { code: 'SERVICE_UNAVAILABLE', message: 'base-mainnet is not available here.' };
    expect(() => proxy.requireUpstream(network)).toThrow(expect.objectContaining(refusal));
    expect(() => proxy.requireUpstream(network)).toThrow(expect.objectContaining(refusal));
    expect(logged).toMatchObject([{ level: 'warn', text: expect.stringContaining('SLUICE_RPC_UPSTREAMS') }]);
    expect(() => proxy.resolve('dogecoin')).toThrow(expect.objectContaining({ message: 'Unsupported RPC network' }));
  });
});

describe('the chain of a node', () => {
  it.each([
    ['solana-devnet', 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', 'getBalance'],
    ['starknet-mainnet', '0x534e5f4d41494e', 'starknet_specVersion'],
  ] as const)('is found out on %s, too', async (name, chainId, method) => {
    node(0).chainId = chainId;
    node(0).answers.set(method, '1');
    open([{ network: name, url: node(0).url }]);
    const network = proxy.resolve(name);
    const { bytes } = await proxy.call(network, readCalls(Buffer.from(JSON.stringify({ id: 9, method })), network), {
      signal: never,
    });
    expect(JSON.parse(bytes.toString())).toEqual({ jsonrpc: '2.0', id: 9, result: 1 });
  });
});
