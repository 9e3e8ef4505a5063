import type { HostSupervisor } from '#inference/host';

/** Starts a host, works with it once it has loaded its model, and ends it. */
export async function whileReady(host: HostSupervisor, work: (pid: number) => Promise<void>): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    host.onChange(({ state, reason }) => {
      if (state === 'ready') resolve();
      else if (state === 'restarting') reject(new Error(reason ?? 'the host ended'));
    });
  });
  host.start();
  try {
    await ready;
    await work(pidOf(host));
  } finally {
    await host.drain(0);
  }
}

export function pidOf({ pid }: HostSupervisor): number {
  if (pid === null) throw new Error('the host is not running');
  return pid;
}

/** Runs conversations of about as many tokens as words together, for their memory. */
export async function converse(
  host: HostSupervisor,
  { count, words, answer }: { count: number; words: number; answer: number },
): Promise<void> {
  const ask = (index: number): Promise<unknown> =>
    host.run(
      {
        id: `conversation-${index}`,
        // Each begins differently, so that none reuses the prefix of another.
        prompt: { messages: [{ role: 'user', content: `${index} ${'word '.repeat(words)}` }] },
        n: 1,
        sampling: { temperature: 0, seed: index },
        maxTokens: answer,
        stop: [],
        stopTokenIds: [],
        topLogprobs: null,
      },
      { signal: new AbortController().signal, onEvents: () => undefined },
    );
  await Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
}
