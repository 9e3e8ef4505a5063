import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChildService } from './child-service.js';
import { MergedLog } from './merged-log.js';

/** A fake process; without a pid it failed to spawn. */
class FakeChild extends EventEmitter {
  exitCode: number | null = null;
  signalCode = null;
  readonly signals: string[] = [];

  constructor(readonly pid?: number) {
    super();
  }

  kill(signal: string): void {
    this.signals.push(signal);
  }

  exit(code: number): void {
    this.exitCode = code;
    this.emit('exit', code, null);
  }
}

function service(launches: (() => FakeChild)[]) {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const launch = vi.fn(() => {
    const next = launches.shift();
    if (next === undefined) throw new Error('launched too often');
    return next() as unknown as ChildProcess;
  });
  const log = new MergedLog(stream as unknown as NodeJS.WriteStream);
  return { lines, launch, service: new ChildService({ name: 'api', environment: {}, log, stopWithinMs: 1, launch }) };
}

const noMemory = () => {
  throw new Error('spawn ENOMEM');
};

describe('ChildService', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('retries with growing delays when a restart cannot spawn a process', async () => {
    const [first, absent, last] = [new FakeChild(1), new FakeChild(), new FakeChild(2)];
    const { service: api, launch, lines } = service([() => first, () => absent, noMemory, () => last]);
    api.start();
    first.exit(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(launch).toHaveBeenCalledTimes(2);
    absent.emit('error', new Error('spawn EAGAIN'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(launch).toHaveBeenCalledTimes(3);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(launch).toHaveBeenCalledTimes(4);
    expect(lines.join('')).toMatch(/code 1\).*0\.5 s[^]*EAGAIN.*1\.0 s[^]*ENOMEM.*2\.0 s/);
    last.emit('error', new Error('channel closed'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(launch).toHaveBeenCalledTimes(4);
  });

  it('restarts once the old process ended, without a delay, and not after it was stopped', async () => {
    const [first, second] = [new FakeChild(1), new FakeChild(2)];
    const { service: api, launch, lines } = service([() => first, () => second]);
    api.start();
    const restarted = Promise.all([api.startAnew(), api.startAnew()]);
    expect(first.signals).toEqual(['SIGTERM']);
    expect(launch).toHaveBeenCalledTimes(1);
    first.exit(0);
    await restarted;
    expect(launch).toHaveBeenCalledTimes(2);
    expect(lines.join('')).not.toContain('starts again');
    const unwanted = api.startAnew();
    const stopped = api.stop();
    second.exit(0);
    await Promise.all([unwanted, stopped]);
    expect(launch).toHaveBeenCalledTimes(2);
  });

  it('starts nothing after it was stopped', async () => {
    const { service: api, launch } = service([noMemory]);
    api.start();
    await api.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(launch).toHaveBeenCalledTimes(1);
  });
});
