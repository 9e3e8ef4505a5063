import { describe, expect, it } from 'vitest';
import { BusMembership } from '../../heartbeats/cluster-membership.js';
import type { Heartbeat } from '../../contract/heartbeat.js';
import { BusPlacements } from '../../heartbeats/placement-bus.js';
import { BusCancels } from '../../replies/cancel-bus.js';
import { poolKeys } from '../pools/pool-keys.js';
import { keysOfModels } from '../seal/queue-keys.js';
import { BusKeys } from './bus-keys.js';
import { maxAgeMs } from './message-history.js';
import { SignedBus } from './signed-bus.js';
import type { MessageBus, MessageListener } from '../../contract/message-bus.js';

const [key, newKey] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;
const timing = { heartbeatMs: 60_000, lostAfterMs: 240_000 };

/** A store whose messages reach every process; a test may read and send them as they are. */
class Wire {
  readonly seen: { channel: string; message: string }[] = [];
  private readonly listeners: { channel: string; listener: MessageListener }[] = [];

  readonly bus: MessageBus = {
    publish: async (channel, message) => this.send(channel, message),
    subscribe: async (channel, listener) => {
      this.listeners.push({ channel, listener });
      return () => undefined;
    },
    onDropped: () => undefined,
    isConnected: () => true,
    onReconnect: () => () => undefined,
  };

  send(channel: string, message: string): void {
    this.seen.push({ channel, message });
    for (const each of this.listeners) if (each.channel === channel) each.listener(message, null);
  }

  last(channel: string): string {
    return this.seen.findLast((each) => each.channel === channel)?.message ?? '';
  }
}

class Process {
  readonly warnings: string[] = [];
  readonly bus: SignedBus;
  readonly membership: BusMembership;
  readonly placements: BusPlacements;
  readonly cancels: BusCancels;
  readonly desired: number[] = [];
  readonly missed: string[] = [];
  asked = 0;
  nowMs = 1_000_000;

  private constructor(wire: Wire, sealKeys: readonly string[]) {
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    const warn = (message: string) => void this.warnings.push(message);
    this.bus = new SignedBus(wire.bus, { keys: new BusKeys(sealKeys), namespace: 'test', clock, warn });
    this.membership = new BusMembership(this.bus, clock, timing);
    this.placements = new BusPlacements(this.bus, clock);
    this.cancels = new BusCancels(this.bus);
  }

  static async start(wire: Wire, sealKeys: readonly string[]): Promise<Process> {
    const started = new Process(wire, sealKeys);
    for (const part of [started.membership, started.placements, started.cancels]) await part.start();
    started.placements.subscribe({
      onDesired: ({ revision }) => started.desired.push(revision),
      onAsk: () => (started.asked += 1),
      onUnserved: (modelId) => started.missed.push(modelId),
    });
    return started;
  }

  get refused(): Record<string, number> {
    return Object.fromEntries([...this.bus.refused].filter(([, count]) => count > 0));
  }

  get present(): string[] {
    return this.membership.list().map(({ processId }) => processId);
  }

  join(parts: Partial<Heartbeat> = {}): Promise<void> {
    const base = { processId: 'p', role: 'worker' as const, replyAddress: null, models: [] };
    return this.membership.join(() => ({ ...base, ...parts }));
  }
}

const served = (modelId: string) => ({
  ...{ modelId, modalities: ['chat'], state: 'ready' as const, slots: 1, running: 0, provider: 'cpu' },
});

/** An installation with two pools: `a` and `b` serve one model each, `c` belongs to both. */
async function installation() {
  const wire = new Wire();
  const api = await Process.start(wire, [key]);
  const honest = await Process.start(wire, poolKeys([key], ['b', 'c']));
  const attacker = await Process.start(wire, poolKeys([key], ['a', 'c']));
  return { wire, api, honest, attacker };
}

const joinApi = (api: Process) => api.join({ processId: 'api', role: 'api', replyAddress: 'address' });

describe('messages of api and ops', () => {
  it('reach workers of pools, and those with the key of the installation', async () => {
    const { wire, api, honest } = await installation();
    const trusted = await Process.start(wire, [key]);
    await joinApi(api);
    await api.placements.announce({ revision: 7, placements: [] });
    await api.cancels.cancel('request');
    api.placements.reportUnserved('b');
    for (const each of [honest, trusted]) {
      expect(each.present).toEqual(['api']);
      expect([each.desired, each.missed, each.cancels.wasCancelled('request')]).toEqual([[7], ['b'], true]);
      expect(each.refused).toEqual({});
    }
  });

  it('cannot be sent by a worker of a pool, with or without its keys', async () => {
    const { wire, api, honest, attacker } = await installation();
    await joinApi(api);
    const heartbeat = wire.last('heartbeat');
    const text = heartbeat.slice(heartbeat.indexOf('\n') + 1);
    const goodbye = JSON.stringify({ ...JSON.parse(text), alive: false });
    const [header = ''] = heartbeat.split('\n');
    // The message is sent unchanged, then under the header of the heartbeat, then signed by the attacker.
    wire.send('heartbeat', goodbye);
    wire.send('heartbeat', `${header}\n${goodbye}`);
    await attacker.bus.publish('heartbeat', goodbye);
    const placement = JSON.stringify({ type: 'desired', desired: { revision: 9, placements: [] } });
    wire.send('placement', placement);
    await attacker.bus.publish('placement', placement);
    await attacker.cancels.cancel('request');
    attacker.placements.reportUnserved('b');
    // The api sent the message on one channel, and it is repeated on another.
    await api.cancels.cancel(placement);
    wire.send('placement', wire.last('cancel'));
    for (const each of [api, honest]) {
      expect(each.present).toEqual(['api']);
      expect(each.membership.isGone('address')).toBe(false);
      expect([each.desired, each.missed, each.cancels.wasCancelled('request')]).toEqual([[], [], false]);
    }
    expect(api.refused).toEqual({ unsigned: 2, forged: 2, 'outside-scope': 4 });
    // Messages of workers of other pools do not concern a worker.
    expect(honest.refused).toEqual({ unsigned: 2, forged: 2 });
  });

  it('count once, and not when they are old', async () => {
    const { wire, api, honest } = await installation();
    await joinApi(api);
    await api.placements.announce({ revision: 7, placements: [] });
    const [heartbeat, placement] = [wire.last('heartbeat'), wire.last('placement')];
    await api.membership.close();
    const goodbye = wire.last('heartbeat');
    await api.placements.announce({ revision: 8, placements: [] });
    for (const message of [heartbeat, goodbye]) wire.send('heartbeat', message);
    wire.send('placement', placement);
    expect([honest.desired, honest.present, honest.refused]).toEqual([[7, 8], [], { replayed: 3 }]);
    const late = await Process.start(wire, poolKeys([key], ['b']));
    late.nowMs += maxAgeMs + 1;
    wire.send('heartbeat', heartbeat);
    wire.send('placement', placement);
    expect([late.desired, late.present, late.refused]).toEqual([[], [], { stale: 2 }]);
  });

  it('may overtake each other', async () => {
    const { wire, api } = await installation();
    for (let count = 0; count < 20; count += 1) await api.cancels.cancel(`request-${count}`);
    const sent = wire.seen.filter(({ channel }) => channel === 'cancel');
    const late = await Process.start(wire, poolKeys([key], ['b']));
    for (const { channel, message } of sent.toReversed()) wire.send(channel, message);
    expect([late.cancels.wasCancelled('request-0'), late.refused]).toEqual([true, {}]);
  });

  it('are verified by either key while the key of the installation is changed', async () => {
    const wire = new Wire();
    const worker = await Process.start(wire, poolKeys([key, newKey], ['b']));
    for (const [revision, keys] of [[key], [newKey, key], [newKey]].entries()) {
      const ops = await Process.start(wire, keys);
      await ops.placements.announce({ revision, placements: [] });
    }
    expect([worker.desired, worker.refused]).toEqual([[0, 1, 2], {}]);
  });

  it('are taken as before with credentials made before there were signatures', async () => {
    const wire = new Wire();
    const api = await Process.start(wire, [key]);
    const worker = await Process.start(wire, keysOfModels([key], ['b']));
    await joinApi(api);
    await api.placements.announce({ revision: 7, placements: [] });
    await worker.join({ processId: 'w', models: [served('b')] });
    expect([worker.desired, worker.present]).toEqual([[7], ['api', 'w']]);
    expect([api.present, api.refused]).toEqual([['api', 'w'], {}]);
  });

  it('are neither signed nor verified without keys', async () => {
    const wire = new Wire();
    const [api, worker] = [await Process.start(wire, []), await Process.start(wire, [])];
    await joinApi(api);
    expect(wire.last('heartbeat')).toMatch(/^\{"processId":"api"/);
    expect(worker.present).toEqual(['api']);
  });
});

describe('heartbeats of workers of pools', () => {
  it('reach api, ops and the other workers of the pool', async () => {
    const { wire, api, honest } = await installation();
    const peer = await Process.start(wire, poolKeys([key], ['b', 'c', 'd']));
    const parts = {
      models: [served('b')],
      claims: ['chat.b'],
      worker: { pools: ['p'], budgets: {}, withoutReplica: [] },
    };
    await honest.join(parts);
    for (const each of [api, peer]) {
      expect(each.membership.list()).toEqual([
        expect.objectContaining({ models: parts.models, onlyModels: ['b', 'c'] }),
      ]);
      expect(each.refused).toEqual({});
    }
    honest.placements.ask();
    expect(api.asked).toBe(1);
  });

  it('name no model whose key the worker does not have', async () => {
    const { api, attacker, honest } = await installation();
    await attacker.join({ models: [served('a'), served('b')] });
    expect(api.membership.list()[0]?.models).toEqual([served('a')]);
    const claim = { processId: 'x', role: 'worker', replyAddress: null, models: [served('a')], alive: true };
    for (const parts of [
      { models: [served('b')] },
      { claims: ['chat.b'] },
      { worker: { pools: ['p'], budgets: {}, withoutReplica: [{ modelId: 'b', cause: 'waiting', reason: '' }] } },
      { role: 'ops' },
      { replyAddress: 'address' },
    ]) {
      await attacker.bus.publish('heartbeat', JSON.stringify({ ...claim, ...parts }));
    }
    expect([api.present, api.refused]).toEqual([['p'], { 'outside-scope': 5 }]);
    expect(honest.present).toEqual([]);
    expect(api.warnings).toEqual([expect.stringContaining('with the keys of a, c')]);
  });

  it('do not speak for a worker of another pool, nor end it', async () => {
    const { wire, api, honest, attacker } = await installation();
    await honest.join({ processId: 'w', models: [served('b')] });
    const message = wire.last('heartbeat');
    const text = message.slice(message.indexOf('\n') + 1);
    const [header = ''] = message.split('\n');
    const goodbye = JSON.stringify({ ...JSON.parse(text), models: [], alive: false });
    await attacker.bus.publish('heartbeat', goodbye);
    await attacker.bus.publish('heartbeat', JSON.stringify({ ...JSON.parse(text), models: [], count: 1e9 }));
    wire.send('heartbeat', header.replace('"b","c"', '"a","c"') + `\n${goodbye}`);
    wire.send('heartbeat', `${header}\n${goodbye}`);
    const alive = () => api.membership.list().filter(({ models }) => models.length > 0);
    expect(alive()).toEqual([expect.objectContaining({ processId: 'w', models: [served('b')] })]);
    await honest.membership.announce();
    expect(alive()).toHaveLength(1);
    expect(api.refused).toEqual({ forged: 2 });
    await honest.membership.close();
    expect(alive()).toEqual([]);
  });
});
