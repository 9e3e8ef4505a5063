import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { RedisBus } from './redis-bus.js';

/** Returns clients of a server that refuses the channels in `refused` until they are removed. */
function open(pool: string | null, refused = new Set<string>()) {
  const [names, warnings]: [string[], string[]] = [[], []];
  const note = async (...given: string[]) => {
    const name = given.join(' ');
    if (refused.has(name)) throw new Error('NOPERM this user has no permissions');
    names.push(name);
  };
  const subscriber = Object.assign(new EventEmitter(), {
    status: 'ready',
    subscribe: (name: string) => note('subscribe', name),
    psubscribe: (name: string) => note('psubscribe', name),
  });
  const publisher = { publish: (name: string, text: string) => note('publish', name, text) };
  const warn = (message: string) => void warnings.push(message);
  const bus = new RedisBus(publisher as unknown as Redis, subscriber as unknown as Redis, {
    namespace: 'ns',
    pool,
    warn,
  });
  return { bus, subscriber, names, warnings };
}

it('RedisBus survives a message that a listener cannot read, and passes it to the others', async () => {
  const { bus, subscriber, warnings } = open(null);
  const seen: string[] = [];
  await bus.subscribe('news', (text) => void JSON.parse(text));
  await bus.subscribe('news', (text) => void seen.push(text));
  subscriber.emit('message', 'ns:bus:news', 'no json');
  expect({ seen, warnings: warnings.length }).toEqual({ seen: ['no json'], warnings: 1 });
});

it('RedisBus hears every pool, and says whose channel a message came on', async () => {
  const { bus, subscriber, names } = open(null);
  const seen: string[] = [];
  await bus.subscribe('news', (text, origin) => void seen.push(`${text} ${origin}`));
  await bus.publish('news', 'text');
  expect(names).toEqual(['subscribe ns:bus:news', 'psubscribe ns:pool-bus:*', 'publish ns:bus:news text']);
  subscriber.emit('message', 'ns:bus:news', 'one');
  for (const name of ['text:news', 'text:other', 'text:image:news', 'image:news']) {
    subscriber.emit('pmessage', 'ns:pool-bus:*', `ns:pool-bus:${name}`, name);
  }
  expect(seen).toEqual(['one null', 'text:news text', 'image:news image']);
});

it('RedisBus of a pool sends on its channels, and hears those and the channels of the installation', async () => {
  const { bus, subscriber, names } = open('text');
  const seen: string[] = [];
  await bus.subscribe('news', (text, origin) => void seen.push(`${text} ${origin}`));
  await bus.publish('news', 'text');
  expect(names).toEqual([
    'subscribe ns:bus:news',
    'subscribe ns:pool-bus:text:news',
    'publish ns:pool-bus:text:news text',
  ]);
  subscriber.emit('message', 'ns:bus:news', 'one');
  subscriber.emit('message', 'ns:pool-bus:text:news', 'two');
  expect(seen).toEqual(['one null', 'two text']);
});

it('RedisBus hears the installation where the server refuses the channels of pools, and warns once', async () => {
  const { bus, subscriber, names, warnings } = open(null, new Set(['psubscribe ns:pool-bus:*']));
  await bus.subscribe('news', () => undefined);
  await bus.subscribe('more', () => undefined);
  subscriber.emit('close');
  subscriber.emit('ready');
  await expect.poll(() => bus.isConnected()).toBe(true);
  expect(names).toEqual(['news', 'more', 'news', 'more'].map((channel) => `subscribe ns:bus:${channel}`));
  expect(warnings).toEqual([expect.stringContaining('&ns:bus:* &ns:pool-bus:*')]);
});

it('RedisBus says that it is back once all channels are heard, although the server refuses one at first', async () => {
  const refused = new Set<string>();
  const { bus, subscriber, names, warnings } = open('text', refused);
  let returns = 0;
  bus.onReconnect(() => void (returns += 1));
  await bus.subscribe('news', () => undefined);
  const forget = await bus.subscribe('old', () => undefined);
  forget();
  names.length = 0;
  refused.add('subscribe ns:bus:news');
  subscriber.emit('close');
  subscriber.emit('ready');
  await expect.poll(() => warnings.length).toBeGreaterThan(0);
  expect({ isConnected: bus.isConnected(), returns }).toEqual({ isConnected: false, returns: 0 });
  names.length = 0;
  refused.clear();
  await expect.poll(() => bus.isConnected()).toBe(true);
  expect({ names, returns }).toEqual({
    names: ['subscribe ns:bus:news', 'subscribe ns:pool-bus:text:news'],
    returns: 1,
  });
});
