import { expect, it } from 'vitest';
import type { Engine } from '../contract/engine.js';
import { QueuedTaskEngine } from '../engines/queued-task.engine.js';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostCommand, HostMessage } from './host-protocol.js';
import { ModelHost } from './model-host.js';

/** Returns the host's messages about a loaded engine, then drains it. */
async function readyMessageOf(engine: Engine): Promise<HostMessage> {
  let command: (command: HostCommand) => void = () => undefined;
  let left: () => void = () => undefined;
  const leaving = new Promise<void>((resolve) => (left = resolve));
  const ready = new Promise<HostMessage>((resolve) => {
    const channel = {
      send: (message: HostMessage) => void (message.type === 'ready' && resolve(message)),
      sent: async () => undefined,
      onCommand: (listener: typeof command) => void (command = listener),
      exit: () => left(),
    };
    new ModelHost(channel, async () => ({ engine, provider: 'cpu', providerNote: null, slots: 1 })).start();
  });
  command({ type: 'load', options: { providers: ['cpu'] } as HostLoadOptions });
  const message = await ready;
  command({ type: 'drain' });
  await leaving;
  return message;
}

it('a host reports whether its engine runs one task at a time', async () => {
  const queued = new QueuedTaskEngine({ handlers: {}, sink: () => undefined });
  expect(await readyMessageOf(queued)).toMatchObject({ type: 'ready', oneAtATime: true });
  const together = {
    submit: () => undefined,
    cancel: () => undefined,
    stats: () => ({}),
    close: async () => undefined,
  };
  expect(await readyMessageOf(together as unknown as Engine)).toMatchObject({ type: 'ready', oneAtATime: false });
});
