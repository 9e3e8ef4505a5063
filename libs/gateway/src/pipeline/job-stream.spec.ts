import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ReplyEvent, ReplyStream } from '#queue';
import { ClientDisconnectedError, type JobRun, JobStream } from './job-stream.js';

/** A reply stream that the test fills. */
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
  const replies = new FedReplyStream();
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
    replies,
    calls,
    disconnected,
    stopping,
    lost,
    noReplica,
    watches,
    ends,
    stream: new JobStream(replies, job, waitedMs),
  };
}

const delta: ReplyEvent = { type: 'text-delta' };
const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 };
const finished = { type: 'job-finished', usage } as ReplyEvent;

describe('ChatExchange', () => {
  it('passes on the chat events, ends with the usage and cancels nothing', async () => {
    const { replies, calls, ends, stream } = setUp();
    replies.feed({ type: 'job-started' }, delta, delta, finished);
    const seen: string[] = [];
    expect(await stream.run(ends, (event) => void seen.push(event.type))).toEqual(usage);
    expect(seen).toEqual(['text-delta', 'text-delta']);
    expect(calls).toEqual(['started', 'ended']);
    expect(replies.closed).toBe(true);
  });

  it('keeps to itself that the job was accepted, behind which it may still begin anew', async () => {
    const { replies, ends, stream } = setUp();
    replies.feed({ type: 'job-started' }, { type: 'job-accepted' }, { type: 'job-started' }, delta, finished);
    const seen: string[] = [];
    await stream.run(ends, (event) => void seen.push(event.type));
    await stream.accepted;
    expect(seen).toEqual(['text-delta']);
  });

  it('counts a job as accepted at its first event, for workers that do not say so', async () => {
    const { replies, ends, stream } = setUp();
    replies.feed(delta, finished);
    await stream.run(ends, () => undefined);
    await expect(stream.accepted).resolves.toBeUndefined();
  });

  it('takes no event while the listener is busy', async () => {
    const { replies, ends, stream } = setUp();
    replies.feed(delta, delta, finished);
    let inside = 0;
    await stream.run(ends, async () => {
      inside += 1;
      expect(inside).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    });
  });

  it('rejects with the error of the job without cancelling it', async () => {
    const { replies, calls, ends, stream } = setUp();
    replies.feed({
      type: 'job-failed',
      error: { code: 'TOO_MANY_TOKENS', message: 'm', param: 'messages' },
    } as ReplyEvent);
    await expect(stream.run(ends, () => undefined)).rejects.toMatchObject({
      code: 'TOO_MANY_TOKENS',
      param: 'messages',
    });
    expect(calls).toEqual([]);
  });

  it('cancels the job when the client disconnects before the first token', async () => {
    const { calls, disconnected, ends, stream } = setUp();
    const run = stream.run(ends, () => undefined);
    disconnected.abort();
    await expect(run).rejects.toBeInstanceOf(ClientDisconnectedError);
    expect(calls).toEqual(['cancel']);
  });

  it('ends a waiting job whose model no worker serves any more', async () => {
    const waiting = setUp();
    const run = waiting.stream.run(waiting.ends, () => undefined);
    waiting.noReplica.abort();
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(waiting.calls).toEqual(['cancel']);
  });

  it('cancels the job of a client that disconnected before the stream was opened', async () => {
    const { calls, disconnected, ends, stream } = setUp();
    disconnected.abort();
    await expect(stream.run(ends, () => undefined)).rejects.toBeInstanceOf(ClientDisconnectedError);
    expect(calls).toEqual(['cancel']);
  });

  it('counts the time that the request already waited towards the deadline', async () => {
    const { calls, ends, stream } = setUp(60_000);
    await expect(stream.run(ends, () => undefined)).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(calls).toEqual(['cancel']);
  });

  it('cancels the job and times out when the deadline passes', async () => {
    const { calls, ends, stream } = setUp();
    await expect(stream.run({ ...ends, deadlineMs: 5 }, () => undefined)).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
    });
    expect(calls).toEqual(['cancel']);
  });

  it('cancels the job when the process stops', async () => {
    const { calls, stopping, ends, stream } = setUp();
    const run = stream.run(ends, () => undefined);
    stopping.abort();
    await expect(run).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(calls).toEqual(['cancel']);
  });

  it('ends a started job when no worker can finish it', async () => {
    const { replies, calls, lost, ends, stream } = setUp();
    replies.feed({ type: 'job-started' }, delta, delta);
    let seen = 0;
    const run = stream.run(ends, () => {
      seen += 1;
      lost.abort();
    });
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect([seen, calls]).toEqual([2, ['started', 'cancel']]);
  });

  it('reads all events that a lost worker sent', async () => {
    const { replies, calls, lost, ends, stream } = setUp();
    replies.feed({ type: 'job-started' }, delta, delta, finished);
    let seen = 0;
    const run = stream.run(ends, () => {
      seen += 1;
      lost.abort();
    });
    expect([await run, seen, calls]).toEqual([usage, 2, ['started', 'ended']]);
  });

  it('watches the worker of a job from its start to its end, and not while it waits', async () => {
    const { replies, watches, ends, stream } = setUp();
    const run = stream.run(ends, () => expect(watches).toEqual({ open: 1, opened: 2 }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(watches.opened).toBe(0);
    replies.feed({ type: 'job-started' }, { type: 'job-started' }, delta, finished);
    await run;
    expect(watches.open).toBe(0);
  });

  it('restarts with a job that lost its worker and reports that earlier events are void', async () => {
    const { replies, calls, ends, stream } = setUp();
    const other: ReplyEvent = { type: 'other-delta' };
    replies.feed({ type: 'job-started' }, delta, { type: 'job-started' }, other, finished);
    let seen: string[] = [];
    const onRepeat = () => (seen = []);
    expect(await stream.run(ends, (event) => void seen.push(event.type), onRepeat)).toEqual(usage);
    expect([seen, calls]).toEqual([['other-delta'], ['started', 'started', 'ended']]);
  });

  it('reports the worker of each run, and counts the runs before it as retries', async () => {
    const { replies, ends, stream } = setUp();
    const [first, second] = [{ servedBy: 'a/1', retries: 0 }, { servedBy: 'a/2' }];
    replies.feed({ type: 'job-started', ...first }, delta, { type: 'job-started', ...second }, delta, finished);
    const runs: JobRun[] = [];
    const onStarted = (run: JobRun) => void runs.push(run);
    await stream.run(
      { ...ends, onStarted },
      () => undefined,
      () => undefined,
    );
    expect(runs).toEqual([
      { servedBy: 'a/1', retries: 0 },
      { servedBy: 'a/2', retries: 1 },
    ]);
  });

  it('waits a limited time for another worker for a job that can restart', async () => {
    const { replies, calls, lost, noReplica, ends, stream } = setUp();
    replies.feed({ type: 'job-started' }, delta);
    const run = stream.run(
      ends,
      () => lost.abort(),
      () => undefined,
    );
    await new Promise((resolve) => setImmediate(resolve));
    replies.feed({ type: 'job-started' }, delta);
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual(['started', 'started']);
    noReplica.abort();
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(calls).toEqual(['started', 'started', 'cancel']);
  });

  it('ends a job that restarts when its listener cannot', async () => {
    const { replies, calls, ends, stream } = setUp();
    replies.feed({ type: 'job-started' }, delta, { type: 'job-started' }, delta, finished);
    let seen = 0;
    const run = stream.run(ends, () => void (seen += 1));
    await expect(run).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect([seen, calls]).toEqual([1, ['started', 'cancel']]);
  });

  it('cancels the job when the listener fails', async () => {
    const { replies, calls, ends, stream } = setUp();
    replies.feed(delta);
    const failing = stream.run(ends, () => Promise.reject(new PlatformError('INFERENCE_FAILED', 'no')));
    await expect(failing).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
    expect(calls).toEqual(['cancel']);
  });
});
