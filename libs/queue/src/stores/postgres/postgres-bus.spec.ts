import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PostgresBus } from './postgres-bus.js';
import type { SharedPostgresConnection } from '../../connections/postgres-connection.js';
import { toParts } from './text-parts.js';

function setUp(failures: number) {
  const asked: string[] = [];
  const query = async (text: string) => {
    asked.push(text);
    if (asked.length <= failures) throw new Error('the server is away');
  };
  const client = Object.assign(new EventEmitter(), { query });
  const connection = { on: () => undefined, getListenClient: async () => client };
  const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
  return { bus, asked };
}

describe('PostgresBus', () => {
  it('drops a new connection that falls silent before it listens, and opens another', async () => {
    const lost = new EventEmitter();
    const heard: string[] = [];
    const client = (name: string, isSilent: boolean) => {
      const query = async (text: string) => {
        if (isSilent) throw new Error('Query read timeout');
        heard.push(`${name} ${text}`);
      };
      return Object.assign(new EventEmitter(), { query });
    };
    const clients = [client('first', false), client('silent', true), client('third', false)];
    const connection = Object.assign(lost, {
      getListenClient: async () => clients[0],
      breakOff: (broken: unknown) => {
        if (clients[0] === broken) clients.shift();
        lost.emit('listenerinvalidated');
      },
    });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    let returns = 0;
    bus.onReconnect(() => void (returns += 1));
    await bus.subscribe('news', () => undefined);
    connection.breakOff(clients[0]);
    await expect.poll(() => bus.isConnected(), { timeout: 5_000 }).toBe(true);
    expect({ heard, returns }).toEqual({ heard: ['first LISTEN "ns_news"', 'third LISTEN "ns_news"'], returns: 1 });
    bus.close();
  });

  it('listens and notifies the other listeners although one of them fails', async () => {
    const connection = Object.assign(new EventEmitter(), {
      getListenClient: async () => Object.assign(new EventEmitter(), { query: async () => undefined }),
    });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    const errors: string[] = [];
    connection.on('error', ({ message }: Error) => void errors.push(message));
    bus.onReconnect(() => {
      throw new Error('cannot');
    });
    let returns = 0;
    bus.onReconnect(() => void (returns += 1));
    for (const times of [1, 2]) {
      connection.emit('listenerinvalidated');
      await expect.poll(() => returns).toBe(times);
      expect({ isConnected: bus.isConnected(), failed: errors.length }).toEqual({ isConnected: true, failed: times });
    }
    bus.close();
  });

  it('survives a message that a listener cannot read, and passes it to the others', async () => {
    const client = Object.assign(new EventEmitter(), { query: async () => undefined });
    const pool = { query: async () => ({ rows: [] }) };
    const connection = Object.assign(new EventEmitter(), { getListenClient: async () => client, pool });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    const errors: string[] = [];
    connection.on('error', ({ message }: Error) => void errors.push(message));
    const seen: string[] = [];
    await bus.subscribe('news', (text) => void JSON.parse(text));
    await bus.subscribe('news', (text) => void seen.push(text));
    client.emit('notification', { channel: 'ns_news', payload: 'x.1.0/1:no json' });
    await expect.poll(() => ({ seen, warnings: errors.length })).toEqual({ seen: ['no json'], warnings: 1 });
    bus.close();
  });

  /** Returns a bus whose server identifies sessions by `rows`, and what its listeners hear. */
  const named = async (rows: object[], answer: () => Promise<unknown> = async () => undefined) => {
    const client = Object.assign(new EventEmitter(), { query: async () => undefined });
    const asked: string[] = [];
    const query = async (sql: string) => {
      asked.push(sql);
      await answer();
      return { rows };
    };
    const connection = Object.assign(new EventEmitter(), { getListenClient: async () => client, pool: { query } });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    const [seen, dropped]: [string[], string[]] = [[], []];
    bus.onDropped((channel, reason) => void dropped.push(`${channel} ${reason}`));
    await bus.subscribe('news', (text, origin) => void seen.push(`${text.slice(0, 4)} ${text.length} ${origin}`));
    await bus.subscribeReplies('replies', (text) => void seen.push(`reply ${text.length}`));
    const send = (processId: number, text: string, channel = 'news') => {
      for (const payload of toParts('x', processId * 1_000 + text.length, text)) {
        client.emit('notification', { channel: `ns_${channel}`, payload, processId });
      }
    };
    return { bus, seen, dropped, asked, send };
  };
  const installation = { pid: 1, role: 'sluice', hasPools: true };
  const worker = { pid: 2, role: 'ns_pool_text_0a', hasPools: true };

  it('collects no message that is too long, and reports it', async () => {
    const { bus, seen, dropped, send } = await named([installation]);
    for (const length of [500_000, 2_000_000]) {
      send(1, 'a'.repeat(length));
      send(1, 'a'.repeat(length), 'replies');
    }
    await expect.poll(() => seen).toHaveLength(3);
    expect(dropped).toEqual(['news too-large']);
    expect(seen.toSorted()).toEqual(['aaaa 500000 null', 'reply 2000000', 'reply 500000']);
    bus.close();
  });

  it('says whose session sent a message, as the server does, and keeps their order', async () => {
    const { bus, seen, send } = await named([installation, worker]);
    send(1, 'one');
    send(2, 'two');
    send(3, 'three');
    await expect.poll(() => seen).toHaveLength(3);
    send(2, 'four');
    expect(seen).toEqual(['one 3 null', 'two 3 ns_pool_text_0a', 'thre 5 ?', 'four 4 ns_pool_text_0a']);
    bus.close();
  });

  it('has all messages from the installation where there are no pools, and reads no sessions again', async () => {
    const { bus, seen, asked, send } = await named([{ pid: null, role: null, hasPools: false }]);
    for (let pid = 1; pid <= 5_000; pid += 1) send(pid, 'text');
    await expect.poll(() => seen).toHaveLength(5_000);
    send(9_999, 'text');
    expect([new Set(seen).size, seen.length, asked.length]).toEqual([1, 5_001, 1]);
    bus.close();
  });

  it('delivers messages of unknown sessions although the server does not say whose they are', async () => {
    const { bus, seen, send } = await named([], () => new Promise(() => undefined));
    send(1, 'one');
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(['one 3 ?']);
    bus.close();
  });

  it('retries a channel that it could not listen to', async () => {
    const { bus, asked } = setUp(1);
    await expect(bus.subscribe('news', () => undefined)).rejects.toThrow('away');
    await bus.subscribe('news', () => undefined);
    await bus.subscribe('news', () => undefined);
    expect(asked).toEqual(['LISTEN "ns_news"', 'LISTEN "ns_news"']);
    bus.close();
  });

  it('reports no channel as listening before the server does', async () => {
    const { bus } = setUp(1);
    const both = await Promise.allSettled([
      bus.subscribe('news', () => undefined),
      bus.subscribe('news', () => undefined),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    bus.close();
  });

  it('loses no long text because another process sends parts under its next name', async () => {
    const names: string[] = [];
    const pool = { query: async (_text: string, [, payloads]: [string, string[]]) => void names.push(...payloads) };
    const connection = { on: () => undefined, pool };
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    for (const text of ['one', 'two', 'three']) await bus.publish('news', text);
    const numbers = names.map((name) => Number(name.split('.')[1]));
    const steps = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0));
    expect(steps.some((step) => Math.abs(step) > 1_000)).toBe(true);
    bus.close();
  });
});
