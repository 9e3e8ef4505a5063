import { expect, it } from 'vitest';
import type { HostSupervisor } from '#inference/host';
import { measureText } from './check-text.js';

type Run = HostSupervisor['run'];

/** A host that sends these pieces, each list at once. */
function hostSending(batches: string[][]): Pick<HostSupervisor, 'report' | 'run'> {
  const run = async (_request: unknown, { onEvents }: Parameters<Run>[1]) => {
    for (const texts of batches)
      onEvents(texts.map((text) => ({ type: 'text-delta' as const, index: 0, text, tokens: 1, logprobs: null })));
    return { usage: { promptTokens: 3, completionTokens: 40 } };
  };
  return { report: null, run: run as unknown as Run };
}

it('states no speed for a text whose pieces all came at once', async () => {
  const options = { request: {} as never, signal: new AbortController().signal, onText: () => undefined };
  const result = await measureText(hostSending([['Once ', 'upon ', 'a time']]), options);
  expect(result).toMatchObject({ text: 'Once upon a time', completionTokens: 40, tokensPerSecond: null });
});
