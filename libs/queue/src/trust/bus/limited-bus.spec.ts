import { describe, expect, it } from 'vitest';
import { BusKeys } from './bus-keys.js';
import { LimitedBus, maxMessageCharacters } from './limited-bus.js';
import { SignedBus } from './signed-bus.js';
import {
  type MessageBus,
  type MessageListener,
  type MessageOrigin,
  unknownOrigin,
} from '../../contract/message-bus.js';

const key = 'ab'.repeat(32);

async function open() {
  let [nowMs, hear]: [number, MessageListener] = [0, () => undefined];
  const inner = {
    publish: async () => undefined,
    subscribe: async (_channel: string, listener: MessageListener) => {
      hear = listener;
      return () => undefined;
    },
    onDropped: () => undefined,
  } as unknown as MessageBus;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const keys = new BusKeys([key]);
  let verified = 0;
  const verify = keys.verify.bind(keys);
  keys.verify = (...given) => ((verified += 1), verify(...given));
  const warn = () => undefined;
  const limited = new LimitedBus(inner, clock);
  const onRefused = (channel: string, origin: MessageOrigin) => limited.noteRefusal(channel, origin);
  const bus = new SignedBus(limited, { keys, namespace: 'test', clock, warn, onRefused });
  const heard: string[] = [];
  await bus.subscribe('news', (text) => void heard.push(text));
  let sent = '';
  const sender = new SignedBus(
    { ...inner, publish: async (_channel, text) => void (sent = text) },
    {
      ...{ keys: new BusKeys([key]), namespace: 'test', clock, warn },
    },
  );
  return {
    heard,
    refused: () => Object.fromEntries([...bus.refused].filter(([, count]) => count > 0)),
    verified: () => verified,
    wait: (ms: number) => void (nowMs += ms),
    send: (text: string, origin: MessageOrigin) => hear(text, origin),
    genuine: async (text: string, origin: MessageOrigin) => {
      await sender.publish('news', text);
      hear(sent, origin);
    },
  };
}

const forged = (models: string[] | null) => `s1 ${JSON.stringify([models, 'x', 1, 1, 'AAAA'])}\ntext`;

describe('LimitedBus', () => {
  it('looks at no more than its share of what one pool sends, and at all of the others', async () => {
    const bus = await open();
    for (let count = 0; count < 20_000; count += 1) bus.send(forged(['a']), 'text');
    expect(bus.verified()).toBe(800);
    await bus.genuine('of the installation', null);
    await bus.genuine('of another pool', 'image');
    expect(bus.heard).toEqual(['of the installation', 'of another pool']);
    expect(bus.refused()).toEqual({ forged: 800, flood: 19_200 });
    await bus.genuine('too much', 'text');
    bus.wait(1_000);
    await bus.genuine('later', 'text');
    expect(bus.heard.slice(2)).toEqual(['later']);
  });

  it('looks at more of what is genuine, up to a share', async () => {
    const bus = await open();
    for (let count = 0; count < 5_000; count += 1) await bus.genuine('text', 'text');
    expect([bus.heard.length, bus.refused()]).toEqual([1_600, { flood: 3_400 }]);
  });

  it('drops no heartbeat of 300 workers with 300 models', async () => {
    let [nowMs, heard, hear]: [number, number, MessageListener] = [0, 0, () => undefined];
    const subscribe = async (_channel: string, listener: MessageListener) => {
      hear = listener;
      return () => undefined;
    };
    const inner = { subscribe, onDropped: () => undefined } as unknown as MessageBus;
    const limited = new LimitedBus(inner, { nowMs: () => nowMs, monotonicMs: () => nowMs });
    await limited.subscribe('heartbeat', () => void (heard += 1));
    const heartbeat = forged(['a']).padEnd(72_000, 'm');
    for (let second = 0; second < 10; second += 1) {
      for (let worker = 0; worker < 300; worker += 1) hear(heartbeat, 'text');
      nowMs += 1_000;
    }
    expect(heard).toBe(3_000);
  });

  it('looks at fewer messages that claim to be of the installation, which take longer to verify', async () => {
    const bus = await open();
    for (let count = 0; count < 20_000; count += 1) bus.send(forged(null), 'text');
    expect(bus.verified()).toBe(572);
  });

  it('limits all senders together that the store has not named yet', async () => {
    const bus = await open();
    for (let count = 0; count < 20_000; count += 1) bus.send(forged(['a']), unknownOrigin);
    expect(bus.verified()).toBe(800);
    bus.wait(1_000);
    for (let count = 0; count < 20_000; count += 1) bus.send(forged(['a']), unknownOrigin);
    expect(bus.verified()).toBe(900);
  });

  it('drops what is too long, of anybody, and counts long messages several times', async () => {
    const bus = await open();
    await bus.genuine('a'.repeat(maxMessageCharacters), null);
    expect([bus.verified(), bus.refused()]).toEqual([0, { 'too-large': 1 }]);
    for (let count = 0; count < 100; count += 1) bus.send('a'.repeat(maxMessageCharacters + 1), 'text');
    expect(bus.refused()).toEqual({ 'too-large': 101 });
    for (let count = 0; count < 100; count += 1) bus.send('a'.repeat(maxMessageCharacters / 2), 'image');
    expect(bus.refused()).toEqual({ 'too-large': 101, unsigned: 58, flood: 42 });
  });
});
