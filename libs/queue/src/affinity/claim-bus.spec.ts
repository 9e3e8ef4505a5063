import { describe, expect, it } from 'vitest';
import { keysOfModels, QueueKeys } from '../trust/seal/queue-keys.js';
import { ClaimBus } from './claim-bus.js';
import type { MessageBus } from '../contract/message-bus.js';

const key = 'ab'.repeat(32);
const message = { queue: 'chat.tiny-1.5', requestId: 'the-id-of-a-request' };

/** A bus whose messages every listener hears. */
function openBus() {
  const heard: string[] = [];
  const listeners: ((text: string) => void)[] = [];
  const bus = {
    publish: async (_channel: string, text: string) => {
      heard.push(text);
      for (const listener of listeners) listener(text);
    },
    subscribe: async (_channel: string, listener: (text: string) => void) => {
      listeners.push(listener);
      return () => undefined;
    },
  } as unknown as MessageBus;
  return { bus, heard };
}

async function claimsOf(bus: MessageBus, keys: readonly string[], queue = message.queue): Promise<string[]> {
  const claims: string[] = [];
  await new ClaimBus(bus, new QueueKeys(keys)).subscribe('worker', queue, (requestId) => claims.push(requestId));
  return claims;
}

describe('the bus of claims', () => {
  it('names a job to workers of its model alone', async () => {
    const { bus, heard } = openBus();
    const own = await claimsOf(bus, keysOfModels([key], ['tiny-1.5']));
    const others = await claimsOf(bus, keysOfModels([key], ['tiny-1']));
    const otherQueue = await claimsOf(bus, [key], 'chat.tiny-1');
    await new ClaimBus(bus, new QueueKeys([key])).send('worker', message);
    expect([own, others, otherQueue]).toEqual([[message.requestId], [], []]);
    expect(heard.join()).not.toContain(message.requestId);
  });

  it('names it as it is without a key; a worker that has one takes no such name', async () => {
    const { bus } = openBus();
    const open = await claimsOf(bus, []);
    const sealed = await claimsOf(bus, [key]);
    await new ClaimBus(bus, new QueueKeys([])).send('worker', message);
    expect([open, sealed]).toEqual([[message.requestId], []]);
  });
});
