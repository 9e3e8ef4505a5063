import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { RedisBus } from './redis-bus.js';

it('RedisBus survives a message that a listener cannot read, and passes it to the others', async () => {
  const subscriber = Object.assign(new EventEmitter(), { subscribe: async () => undefined });
  const warnings: string[] = [];
  const [publisher, warn] = [new EventEmitter(), (message: string) => void warnings.push(message)];
  const bus = new RedisBus(publisher as unknown as Redis, subscriber as unknown as Redis, 'ns', warn);
  const seen: string[] = [];
  await bus.subscribe('news', (text) => void JSON.parse(text));
  await bus.subscribe('news', (text) => void seen.push(text));
  subscriber.emit('message', 'ns:bus:news', 'no json');
  expect({ seen, warnings: warnings.length }).toEqual({ seen: ['no json'], warnings: 1 });
});
