import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { PostgresBus } from './postgres-bus.js';
import type { SharedPostgresConnection } from './shared-connection.js';

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
  it('asks the server again for a channel that it could not listen to', async () => {
    const { bus, asked } = setUp(1);
    await expect(bus.subscribe('news', () => undefined)).rejects.toThrow('away');
    await bus.subscribe('news', () => undefined);
    await bus.subscribe('news', () => undefined);
    expect(asked).toEqual(['LISTEN "ns_news"', 'LISTEN "ns_news"']);
    bus.close();
  });

  it('lets nobody believe that it listens before the server knows', async () => {
    const { bus } = setUp(1);
    const both = await Promise.allSettled([
      bus.subscribe('news', () => undefined),
      bus.subscribe('news', () => undefined),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    bus.close();
  });
});
