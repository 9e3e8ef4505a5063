import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { Heartbeat } from '../contract/heartbeat.js';
import { QueueKeys } from '../trust/seal/queue-keys.js';
import { AffinityRouter } from './affinity-router.js';
import { ClaimBus } from './claim-bus.js';
import { StickyAssigner } from './sticky-assigner.js';
import type { MessageBus } from '../contract/message-bus.js';

function worker(processId: string): Heartbeat {
  const model = { modelId: 'm', modalities: ['chat'], state: 'ready', slots: 4, running: 0, provider: 'cpu' } as const;
  return { processId, role: 'worker', replyAddress: null, models: [model], claims: ['chat.m'], alive: true };
}

function envelope(replyTo: string | null = 'api'): JobEnvelope {
  return { requestId: 'r', modality: 'chat', modelId: 'm', attempt: 1, deadlineAtMs: 1, replyTo, payload: {} };
}

function open(stickyMs = 400) {
  const released: string[] = [];
  const decisions: string[] = [];
  const sent: string[] = [];
  const bus: MessageBus = {
    publish: async (_channel, text) => void sent.push(text),
    subscribe: async () => () => undefined,
    isConnected: () => true,
    onReconnect: () => () => undefined,
    onDropped: () => undefined,
  };
  const assigner = new StickyAssigner({
    stickyMs,
    onDecision: ({ decision }) => void decisions.push(decision),
    router: new AffinityRouter(() => [worker('w1'), worker('w2')]),
    claims: new ClaimBus(bus, new QueueKeys([])),
    release: async (queue, requestId) => void released.push(`${queue} ${requestId}`),
  });
  return { assigner, released, decisions, sent };
}

describe('StickyAssigner', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('prefers a worker for a job and tells it to claim the job', () => {
    const { assigner, sent, decisions } = open();
    const workerId = assigner.workerFor(envelope(), () => 'key') ?? '';
    expect(['w1', 'w2']).toContain(workerId);
    assigner.assigned(envelope(), workerId);
    expect(sent).toEqual([JSON.stringify({ queue: 'chat.m', requestId: 'r' })]);
    expect(decisions).toEqual(['sticky']);
  });

  it('prefers no worker for a job without a reply stream', () => {
    const { assigner, decisions } = open();
    expect(assigner.workerFor(envelope(null), () => 'key')).toBeNull();
    expect(decisions).toEqual([]);
  });

  it('releases a job by its own clock when no worker has started it in time', () => {
    const { assigner, released } = open(400);
    assigner.assigned(envelope(), 'w1');
    vi.advanceTimersByTime(600);
    expect(released).toEqual([]);
    vi.advanceTimersByTime(100);
    expect(released).toEqual(['chat.m r']);
  });

  it.each(['began', 'ended'] as const)('leaves a job alone that has %s', (event) => {
    const { assigner, released } = open();
    assigner.assigned(envelope(), 'w1');
    assigner[event]('r');
    vi.advanceTimersByTime(10_000);
    expect(released).toEqual([]);
  });

  it('delays no job for longer than a second', () => {
    expect(open(60_000).assigner.stickyMs).toBe(1_000);
  });
});
