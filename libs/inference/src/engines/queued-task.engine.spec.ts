import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { EngineEvent } from '../contract/engine.js';
import { QueuedTaskEngine, type TaskContext, type TaskHandler } from './queued-task.engine.js';

/** Engine that doubles numbers and yields once before each. */
function setUp(extra: Record<string, TaskHandler> = {}) {
  const events: [string, EngineEvent][] = [];
  const double = async ({ numbers }: { numbers: number[] }, context: TaskContext) => {
    const doubled: number[] = [];
    for (const number of numbers) {
      await context.yieldToEventLoop();
      doubled.push(await context.measure(async () => number * 2));
      context.progress(doubled.length / numbers.length);
    }
    return { doubled };
  };
  let closed = false;
  const engine = new QueuedTaskEngine({
    handlers: { double, ...extra },
    sink: (batch) => void events.push(...batch),
    onClose: async () => void (closed = true),
  });
  const last = (id: string) => events.filter(([of]) => of === id).at(-1)?.[1];
  const until = async (id: string) => {
    for (let turn = 0; turn < 1_000 && !['task-finished', 'failed'].includes(last(id)?.type ?? ''); turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    return last(id);
  };
  return { engine, events, until, isClosed: () => closed };
}

describe('QueuedTaskEngine', () => {
  it('returns each output in submission order and reports progress', async () => {
    const { engine, events, until } = setUp();
    engine.submit({ id: 'a', task: 'double', input: { numbers: [1, 2] } });
    engine.submit({ id: 'b', task: 'double', input: { numbers: [3] } });
    expect(engine.stats()).toMatchObject({ running: 1, waiting: 1 });
    expect(await until('b')).toEqual({ type: 'task-finished', cancelled: false, output: { doubled: [6] } });
    expect(events.map(([id, event]) => `${id} ${event.type}`)).toEqual([
      'a task-progress',
      'a task-progress',
      'a task-finished',
      'b task-progress',
      'b task-finished',
    ]);
    expect(engine.stats()).toMatchObject({ running: 0, waiting: 0, stepsTotal: 3 });
  });

  it('starts a task after the result of the one before has been delivered', async () => {
    const began: string[] = [];
    const handOvers: (() => void)[] = [];
    const delivered = () => new Promise<void>((resolve) => handOvers.push(resolve));
    const sink = Object.assign(() => undefined, { delivered });
    const handlers = { begin: async ({ name }: { name: string }) => ({ position: began.push(name) }) };
    const engine = new QueuedTaskEngine({ handlers, sink });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    for (const name of ['a', 'b']) engine.submit({ id: name, task: 'begin', input: { name } });
    await turn();
    expect(began).toEqual(['a']);
    handOvers.shift()?.();
    await turn();
    expect(began).toEqual(['a', 'b']);
    handOvers.shift()?.();
    await engine.close();
  });

  it('ends a running task at its next yield and a waiting task immediately', async () => {
    const { engine, until } = setUp();
    engine.submit({ id: 'a', task: 'double', input: { numbers: Array.from({ length: 500 }, () => 1) } });
    engine.submit({ id: 'b', task: 'double', input: { numbers: [3] } });
    engine.cancel('b');
    engine.cancel('a');
    expect(await until('b')).toEqual({ type: 'task-finished', cancelled: true, output: null });
    expect(await until('a')).toEqual({ type: 'task-finished', cancelled: true, output: null });
    expect(engine.stats().stepsTotal).toBe(0);
    engine.submit({ id: 'c', task: 'double', input: { numbers: [4] } });
    expect(await until('c')).toMatchObject({ output: { doubled: [8] } });
  });

  it('fails unknown tasks and handler errors with a PlatformError', async () => {
    const { engine, until } = setUp({
      refuse: async () => Promise.reject(new PlatformError('INVALID_REQUEST', 'Too wide.', 'width')),
      exhaust: async () => Promise.reject(new Error('bad_alloc')),
    });
    engine.submit({ id: 'a', task: 'toString', input: {} });
    engine.submit({ id: 'b', task: 'refuse', input: {} });
    engine.submit({ id: 'c', task: 'exhaust', input: {} });
    expect(await until('a')).toMatchObject({ type: 'failed', error: { code: 'INVALID_MODEL' } });
    expect(await until('b')).toMatchObject({ error: { code: 'INVALID_REQUEST', param: 'width' } });
    expect(await until('c')).toMatchObject({ error: { code: 'DEVICE_LOST' } });
  });

  it('fails all tasks on close and releases the session after the last run', async () => {
    const { engine, until, isClosed } = setUp();
    engine.submit({ id: 'a', task: 'double', input: { numbers: [1, 2, 3] } });
    engine.submit({ id: 'b', task: 'double', input: { numbers: [3] } });
    await engine.close();
    for (const id of ['a', 'b']) {
      expect(await until(id)).toMatchObject({ type: 'failed', error: { code: 'MODEL_OFFLINE' } });
    }
    expect(isClosed()).toBe(true);
    engine.submit({ id: 'c', task: 'double', input: { numbers: [1] } });
    expect(await until('c')).toMatchObject({ error: { code: 'MODEL_OFFLINE' } });
  });
});
