import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { HostProcess } from './host-process.js';
import { HostSupervisor } from './host-supervisor.js';

const load = {
  modelId: 'test',
  directory: '.',
  graphFile: 'none.onnx',
  family: 'none',
  familyOptions: {},
  providers: ['cpu'],
  intraOpThreads: 1,
  slots: 1,
  contextLength: 10,
  cacheTokens: 10,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('retries with growing delays while no host process can be created', async () => {
  const exits: ((reason: string) => void)[] = [];
  const host: HostProcess = {
    pid: 1,
    send: () => undefined,
    onMessage: () => undefined,
    onExit: (listener) => void exits.push(listener),
    kill: () => undefined,
  };
  const answers = [() => host, noMemory, noMemory, () => host];
  const launch = vi.fn(() => (answers.shift() ?? noMemory)());
  const supervisor = new HostSupervisor({ load, launch, timings: { firstRestartMs: 100 } });
  supervisor.start();
  exits[0]?.('signal SIGKILL');
  await vi.advanceTimersByTimeAsync(100);
  expect([launch.mock.calls.length, supervisor.state]).toEqual([2, 'restarting']);
  await vi.advanceTimersByTimeAsync(200);
  expect([launch.mock.calls.length, supervisor.state]).toEqual([3, 'restarting']);
  await vi.advanceTimersByTimeAsync(400);
  expect([launch.mock.calls.length, supervisor.state]).toEqual([4, 'loading']);
  const leaving = supervisor.drain(0);
  exits[1]?.('exit code 0');
  await leaving;
  expect(supervisor.state).toBe('gone');
});

function noMemory(): never {
  throw new Error('spawn ENOMEM');
}
