import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { RedisBus } from './redis-bus.js';

function open(pool: string | null) {
  const [names, warnings]: [string[], string[]] = [[], []];
  const note = async (...given: string[]) => void names.push(given.join(' '));
  const subscriber = Object.assign(new EventEmitter(), {
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
  expect(names).toEqual(['subscribe ns:bus:news', 'psubscribe ns:pool-bus:*:news', 'publish ns:bus:news text']);
  subscriber.emit('message', 'ns:bus:news', 'one');
  for (const name of ['text:news', 'text:other', 'text:image:news', 'image:news']) {
    subscriber.emit('pmessage', 'ns:pool-bus:*:news', `ns:pool-bus:${name}`, name);
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
