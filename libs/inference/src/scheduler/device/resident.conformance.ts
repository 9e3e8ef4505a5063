import { expect } from 'vitest';
import type { DeviceSession } from '../../runtime/c-api/device-session.js';
import { inspectDecoderGraph } from '../../runtime/decoder-graph.js';
import { BatchScheduler } from '../batch-scheduler.js';
import type { Decoder } from '../decoder.js';
import { RecordingListener, sequenceRequest } from '../recording-listener.js';
import { SplitDecoder } from '../split-decoder.js';
import { DeviceDecoder } from './device-decoder.js';

/* The same texts of a split graph, on the processor and with its caches and states on a device. */

export const slots = 4;

/** On the processor there is no other memory, but the same copies and bindings. */
export function openResident(session: DeviceSession): DeviceDecoder {
  const graph = inspectDecoderGraph(session);
  if (graph.kind !== 'split') throw new TypeError(`The graph is ${graph.kind}.`);
  return DeviceDecoder.resident(session, session, graph, slots);
}

export function openSplit(session: DeviceSession): SplitDecoder {
  const graph = inspectDecoderGraph(session);
  if (graph.kind !== 'split') throw new TypeError(`The graph is ${graph.kind}.`);
  return new SplitDecoder(session, graph, slots);
}

export const promptOf = (length: number, first: number): number[] =>
  Array.from({ length }, (_, index) => 1 + ((first * 31 + index * 17) % 60));

/**
 * Texts that join while others run, leave one after the other or midway, and begin with the prompts of others; and how
 * many tokens of each were copied.
 */
export async function textsOf(decoder: Decoder): Promise<{ tokens: number[][]; copied: (number | null)[] }> {
  const scheduler = new BatchScheduler({ decoder, slots, contextLength: 200, cacheTokens: 2048 });
  const listeners: RecordingListener[] = [];
  const ask = async (prompt: number[], maxNewTokens: number, cancelAfter = Infinity): Promise<number[]> => {
    const id = `s${listeners.length}`;
    const listener = new RecordingListener((_token, count) => {
      if (count === cancelAfter) scheduler.cancel(id);
      return 'continue';
    });
    listeners.push(listener);
    scheduler.submit(sequenceRequest({ id, prompt, listener, maxNewTokens }));
    await listener.done;
    expect(listener.failure).toBeNull();
    expect(listener.end).toBe(cancelAfter === Infinity ? 'length' : 'cancelled');
    return listener.tokens;
  };
  const alone = await ask(promptOf(70, 1), 6);
  await Promise.all([
    ask([...promptOf(66, 1), 3, 4], 12),
    ask(promptOf(9, 2), 3),
    ask(promptOf(5, 3), 20, 4),
    ask(promptOf(20, 4), 5),
    ask([...promptOf(20, 4), 5], 4),
  ]);
  await ask([...promptOf(70, 1), ...alone, 7], 4);
  await scheduler.close();
  return { tokens: listeners.map(({ tokens }) => tokens), copied: listeners.map(({ cachedTokens }) => cachedTokens) };
}
