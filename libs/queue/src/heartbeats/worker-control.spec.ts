import { describe, expect, it } from 'vitest';
import { BusWorkerControl } from './worker-control.js';
import type { BusSender, VerifiedBus } from '../contract/message-bus.js';
import type { WorkerCommand } from '../contract/worker-control.js';

const installation: BusSender = { id: 'ops', models: null, isSelf: false, origin: null };
const pool: BusSender = { id: 'w', models: ['tiny'], isSelf: false, origin: 'text' };

/** Returns a control, what it heard and refused, and a way to send to it. */
async function opened() {
  const heard: WorkerCommand[] = [];
  const refused: BusSender[] = [];
  const sent: string[] = [];
  let deliver: (text: string, sender: BusSender) => void = () => undefined;
  const bus = {
    subscribe: async (_channel: string, listener: typeof deliver) => {
      deliver = listener;
      return () => undefined;
    },
    publish: async (_channel: string, text: string) => void sent.push(text),
    refuse: (_channel: string, sender: BusSender) => void refused.push(sender),
  } as unknown as VerifiedBus;
  const control = new BusWorkerControl(bus);
  await control.start();
  control.subscribe((command) => heard.push(command));
  return { control, heard, refused, sent, deliver: (text: string, sender: BusSender) => deliver(text, sender) };
}

const drain: WorkerCommand = { processId: 'worker-1', action: 'drain' };

describe('commands for workers', () => {
  it('are taken from the installation', async () => {
    const { control, heard, sent, deliver } = await opened();
    await control.send(drain);
    deliver(sent[0] ?? '', installation);
    deliver(JSON.stringify({ ...drain, action: 'resume' }), installation);
    expect(heard).toEqual([drain, { ...drain, action: 'resume' }]);
  });

  it('are refused from a worker of a pool, whatever its keys are', async () => {
    const { heard, refused, deliver } = await opened();
    deliver(JSON.stringify(drain), pool);
    expect(heard).toEqual([]);
    expect(refused).toEqual([pool]);
  });

  it.each(['null', '7', '{}', '{"processId":"w","action":"stop"}', '{"processId":1,"action":"drain"}'])(
    'are not %s',
    async (text) => {
      const { heard, deliver } = await opened();
      deliver(text, installation);
      expect(heard).toEqual([]);
    },
  );
});
