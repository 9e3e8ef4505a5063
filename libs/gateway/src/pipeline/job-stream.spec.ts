import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ReplyEvent, ReplyStream } from '#queue';
import { ClientDisconnectedError, JobStream } from './job-stream.js';

/** A mailbox slot fed by hand. */
class FedReplyStream implements ReplyStream {
  private readonly events: ReplyEvent[] = [];
  private wake: () => void = () => undefined;
  private failure: PlatformError | null = null;
  closed = false;

  feed(...events: ReplyEvent[]): void {
    this.events.push(...events);
    this.wake();
  }

  close(): void {
    this.closed = true;
    this.wake();
  }

  fail(error: PlatformError): void {
    this.failure = error;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplyEvent, undefined> {
    for (;;) {
      const event = this.events.shift();
      if (this.closed) return undefined;
      if (event !== undefined) yield event;
      else if (this.failure !== null) throw this.failure;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

function setUp(waitedMs = 0) {
  const slot = new FedReplyStream();
  const calls: string[] = [];
  const job = {
    started: () => void calls.push('started'),
    ended: () => void calls.push('ended'),
    cancel: async () => void calls.push('cancel'),
  };
  const disconnected = new AbortController();
  const stopping = new AbortController();
  const lost = new AbortController();
  const watches = { open: 0, opened: 0 };
  const watchAvailability = () => {
    watches.open += 1;
    watches.opened += 1;
    return { lost: lost.signal, release: () => void (watches.open -= 1) };
  };
  const noReplica = new AbortController();
  const watchQueue = () => ({ lost: noReplica.signal, release: () => undefined });
  const ends = {
    disconnected: disconnected.signal,
    stopping: stopping.signal,
    watchAvailability,
    watchQueue,
    deadlineMs: 60_000,
  };
  return {
    slot,
    calls,
    disconnected,
    stopping,
    lost,
    noReplica,
    watches,
    ends,
    exchange: new JobStream(slot, job, waitedMs),
  };
}

const delta: ReplyEvent = { type: 'text-delta' };
const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 };
const finished = { type: 'job-finished', usage } as ReplyEvent;

describe('ChatExchange', () => {
  it('hands on the chat events and ends with the usage, cancelling nothing', async () => {
    const { slot, calls, ends, exchange } = setUp();
    slot.feed({ type: 'job-started' }, delta, delta, finished);
    const seen: string[] = [];
    expect(await exchange.run(ends, (event) => void seen.push(event.type))).toEqual(usage);
    expect(seen).toEqual(['text-delta', 'text-delta']);
    expect(calls).toEqual(['started', 'ended']);
    expect(slot.closed).toBe(true);
  });

  it('takes no event while the listener is busy', async () => {
    const { slot, ends, exchange } = setUp();
    slot.feed(delta, delta, finished);
    let inside = 0;
    await exchange.run(ends, async () => {
      inside += 1;
      expect(inside).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    });
  });

  it('rejects with the error of the job without cancelling it', async () => {
    const { slot, calls, ends, exchange } = setUp();
    slot.feed({
      type: 'job-failed',
      error: { code: 'TOO_MANY_TOKENS', message: 'm', param: 'messages' },
    } as ReplyEvent);
    await expect(exchange.run(ends, () => undefined)).rejects.toMatchObject({
      code: 'TOO_MANY_TOKENS',
      param: 'messages',
    });
    expect(calls).toEqual([]);
  });

  it('cancels the job when the caller leaves before the first token', async () => {
    const { calls, disconnected, ends, exchange } = setUp();
    const run = exchange.run(ends, () => undefined);
    disconnected.abort();
    await expect(run).rejects.toBeInstanceOf(ClientDisconnectedError);
    expect(calls).toEqual(['cancel']);
  });

  it('gives a job up that waits for a model which nobody holds any more', async () => {
    const waiting = setUp();
    const run = waiting.exchange.run(waiting.ends, () => undefined);
    waiting.noReplica.abort();
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(waiting.calls).toEqual(['cancel']);
  });

  it('cancels the job of a caller who left before it was opened', async () => {
    const { calls, disconnected, ends, exchange } = setUp();
    disconnected.abort();
    await expect(exchange.run(ends, () => undefined)).rejects.toBeInstanceOf(ClientDisconnectedError);
    expect(calls).toEqual(['cancel']);
  });

  it('counts what its request has waited before towards the deadline', async () => {
    const { calls, ends, exchange } = setUp(60_000);
    await expect(exchange.run(ends, () => undefined)).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(calls).toEqual(['cancel']);
  });

  it('cancels the job and times out when the deadline passes', async () => {
    const { calls, ends, exchange } = setUp();
    await expect(exchange.run({ ...ends, deadlineMs: 5 }, () => undefined)).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
    });
    expect(calls).toEqual(['cancel']);
  });

  it('cancels the job when the process stops', async () => {
    const { calls, stopping, ends, exchange } = setUp();
    const run = exchange.run(ends, () => undefined);
    stopping.abort();
    await expect(run).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(calls).toEqual(['cancel']);
  });

  it('gives up a started job that no worker is left to finish', async () => {
    const { slot, calls, lost, ends, exchange } = setUp();
    slot.feed({ type: 'job-started' }, delta, delta);
    let seen = 0;
    const run = exchange.run(ends, () => {
      seen += 1;
      lost.abort();
    });
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect([seen, calls]).toEqual([2, ['started', 'cancel']]);
  });

  it('reads to the end what a worker sent before it left', async () => {
    const { slot, calls, lost, ends, exchange } = setUp();
    slot.feed({ type: 'job-started' }, delta, delta, finished);
    let seen = 0;
    const run = exchange.run(ends, () => {
      seen += 1;
      lost.abort();
    });
    expect([await run, seen, calls]).toEqual([usage, 2, ['started', 'ended']]);
  });

  it('watches over the worker of a job from its start to its end, and never while it waits', async () => {
    const { slot, watches, ends, exchange } = setUp();
    const run = exchange.run(ends, () => expect(watches).toEqual({ open: 1, opened: 2 }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(watches.opened).toBe(0);
    slot.feed({ type: 'job-started' }, { type: 'job-started' }, delta, finished);
    await run;
    expect(watches.open).toBe(0);
  });

  it('begins anew when a job that lost its worker does, and tells that what came before is void', async () => {
    const { slot, calls, ends, exchange } = setUp();
    const other: ReplyEvent = { type: 'other-delta' };
    slot.feed({ type: 'job-started' }, delta, { type: 'job-started' }, other, finished);
    let seen: string[] = [];
    const onRepeat = () => (seen = []);
    expect(await exchange.run(ends, (event) => void seen.push(event.type), onRepeat)).toEqual(usage);
    expect([seen, calls]).toEqual([['other-delta'], ['started', 'started', 'ended']]);
  });

  it('waits for another worker for a job that can begin anew, but not for ever', async () => {
    const { slot, calls, lost, noReplica, ends, exchange } = setUp();
    slot.feed({ type: 'job-started' }, delta);
    const run = exchange.run(
      ends,
      () => lost.abort(),
      () => undefined,
    );
    await new Promise((resolve) => setImmediate(resolve));
    slot.feed({ type: 'job-started' }, delta);
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual(['started', 'started']);
    noReplica.abort();
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(calls).toEqual(['started', 'started', 'cancel']);
  });

  it('gives up a job that begins anew when its listener cannot', async () => {
    const { slot, calls, ends, exchange } = setUp();
    slot.feed({ type: 'job-started' }, delta, { type: 'job-started' }, delta, finished);
    let seen = 0;
    const run = exchange.run(ends, () => void (seen += 1));
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect([seen, calls]).toEqual([1, ['started', 'cancel']]);
  });

  it('cancels the job when the listener fails', async () => {
    const { slot, calls, ends, exchange } = setUp();
    slot.feed(delta);
    const failing = exchange.run(ends, () => Promise.reject(new PlatformError('INFERENCE_FAILED', 'no')));
    await expect(failing).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
    expect(calls).toEqual(['cancel']);
  });
});
