import { describe, expect, it } from 'vitest';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { ServedModelState, Heartbeat } from '../contract/heartbeat.js';
import { AffinityRouter } from './affinity-router.js';

function served(parts: Partial<ServedModelState> = {}): ServedModelState {
  return { modelId: 'm', modalities: ['chat'], state: 'ready', slots: 4, running: 0, provider: 'cpu', ...parts };
}

function worker(processId: string, model = served(), claims: string[] | undefined = ['chat.m']): Heartbeat {
  return { processId, role: 'worker', replyAddress: null, models: [model], claims, alive: true };
}

function envelope(requestId: string): JobEnvelope {
  const payload = {};
  return { requestId, modality: 'chat', modelId: 'm', attempt: 1, deadlineAtMs: 1, replyTo: 'a', payload };
}

function chosenOf(router: AffinityRouter, requestId = 'r', key = 'key'): string | null {
  const choice = router.choose(envelope(requestId), () => key);
  return 'workerId' in choice ? choice.workerId : null;
}

describe('AffinityRouter', () => {
  it('asks for no key while one worker holds the model', () => {
    const router = new AffinityRouter(() => [worker('w1')]);
    const choice = router.choose(envelope('r'), () => {
      throw new Error('asked for the key');
    });
    expect(choice).toEqual({ refusal: 'alone' });
  });

  it.each([
    ['is loading', worker('w2', served({ state: 'loading' }))],
    ['is draining', worker('w2', served({ state: 'draining' }))],
    ['holds another model', worker('w2', served({ modelId: 'n' }))],
    ['claims nothing', worker('w2', served(), [])],
    ['claims jobs of another queue', worker('w2', served(), ['embedding.m'])],
  ])('prefers no worker that %s', (_reason, other) => {
    const router = new AffinityRouter(() => [worker('w1'), other, worker('w3')]);
    for (let index = 0; index < 50; index += 1) expect(chosenOf(router, 'r', `key-${index}`)).not.toBe('w2');
  });

  it('chooses the same worker for the same key, and all workers over many', () => {
    const router = new AffinityRouter(() => [worker('w1'), worker('w2')]);
    const first = chosenOf(router);
    expect(chosenOf(router, 'another')).toBe(first);
    const all = new Set(Array.from({ length: 50 }, (_value, index) => chosenOf(router, 'r', `key-${index}`)));
    expect(all).toEqual(new Set(['w1', 'w2']));
  });

  it('counts what it has under way before the next heartbeat reports it', () => {
    const router = new AffinityRouter(() => [worker('w1'), worker('w2')]);
    const first = chosenOf(router) ?? '';
    for (const requestId of ['a', 'b', 'c', 'd']) router.began(envelope(requestId), first);
    const second = chosenOf(router);
    expect(second).not.toBe(first);
    for (const requestId of ['a', 'b', 'c', 'd', 'unknown']) router.ended(requestId);
    expect(chosenOf(router)).toBe(first);
  });

  it('counts the load of others that a heartbeat reports', () => {
    const idle = [worker('w1'), worker('w2')];
    const first = chosenOf(new AffinityRouter(() => idle));
    const busy = idle.map((heartbeat) =>
      heartbeat.processId === first ? worker(first, served({ running: 4 })) : heartbeat,
    );
    expect(chosenOf(new AffinityRouter(() => busy))).not.toBe(first);
  });

  it('does not count what was its own when a heartbeat left, and has ended since', () => {
    let heartbeats = [worker('w1'), worker('w2')];
    const router = new AffinityRouter(() => heartbeats);
    const first = chosenOf(router) ?? '';
    for (const requestId of ['a', 'b', 'c']) router.began(envelope(requestId), first);
    heartbeats = heartbeats.map((heartbeat) =>
      heartbeat.processId === first ? worker(first, served({ running: 3 })) : heartbeat,
    );
    for (const heartbeat of heartbeats) router.note(heartbeat);
    expect(chosenOf(router)).not.toBe(first);
    for (const requestId of ['a', 'b', 'c']) router.ended(requestId);
    expect(chosenOf(router)).toBe(first);
  });

  it('prefers no worker when all slots are taken', () => {
    const router = new AffinityRouter(() => [
      worker('w1', served({ running: 4 })),
      worker('w2', served({ running: 5 })),
    ]);
    expect(router.choose(envelope('r'), () => 'key')).toEqual({ refusal: 'full' });
  });
});
