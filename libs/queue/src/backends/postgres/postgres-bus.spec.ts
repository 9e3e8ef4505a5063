import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PostgresBus } from './postgres-bus.js';
import type { SharedPostgresConnection } from './shared-connection.js';
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
    const connection = Object.assign(new EventEmitter(), { getListenClient: async () => client });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    const errors: string[] = [];
    connection.on('error', ({ message }: Error) => void errors.push(message));
    const seen: string[] = [];
    await bus.subscribe('news', (text) => void JSON.parse(text));
    await bus.subscribe('news', (text) => void seen.push(text));
    client.emit('notification', { channel: 'ns_news', payload: 'x.1.0/1:no json' });
    expect({ seen, warnings: errors.length }).toEqual({ seen: ['no json'], warnings: 1 });
    bus.close();
  });

  it('collects no message that is too long, and reports it', async () => {
    const client = Object.assign(new EventEmitter(), { query: async () => undefined });
    const connection = Object.assign(new EventEmitter(), { getListenClient: async () => client });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    const [dropped, seen]: [string[], number[]] = [[], []];
    bus.onDropped((channel, reason) => void dropped.push(`${channel} ${reason}`));
    await bus.subscribe('news', (text) => void seen.push(text.length));
    await bus.subscribe('replies', (text) => void seen.push(text.length), 3_000_000);
    const send = (channel: string, characters: number) => {
      for (const payload of toParts('x', characters, 'a'.repeat(characters))) {
        client.emit('notification', { channel: `ns_${channel}`, payload, processId: 1 });
      }
    };
    for (const channel of ['news', 'replies'])
      for (const length of [500_000, 2_000_000, 4_000_000]) send(channel, length);
    expect({ dropped, seen }).toEqual({
      dropped: ['news too-large', 'news too-large', 'replies too-large'],
      seen: [500_000, 500_000, 2_000_000],
    });
    bus.close();
  });

  it('says whose session sent a message, as the server does', async () => {
    const client = Object.assign(new EventEmitter(), { query: async () => undefined });
    const rows = [
      { pid: 1, role: 'sluice' },
      { pid: 2, role: 'ns_pool_text_0a' },
    ];
    const pool = { query: async () => ({ rows }) };
    const connection = Object.assign(new EventEmitter(), { getListenClient: async () => client, pool });
    const bus = new PostgresBus(connection as unknown as SharedPostgresConnection, 'ns');
    const seen: string[] = [];
    await bus.subscribe('news', (text, origin) => void seen.push(`${text} ${origin}`));
    const send = (processId: number) =>
      client.emit('notification', { channel: 'ns_news', payload: `x.1.0/1:${processId}`, processId });
    send(1);
    await expect.poll(() => send(1) && seen.includes('1 null')).toBe(true);
    send(2);
    send(3);
    expect(seen).toEqual(expect.arrayContaining(['1 ?', '2 ns_pool_text_0a', '3 ?']));
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
