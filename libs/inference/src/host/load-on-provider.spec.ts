import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { HostLoadOptions, LoadedEngine } from '../contract/engine-loader.js';
import { loadOnProvider } from './load-on-provider.js';

/** Loads on the first provider of the list that is not among `refusing`; runs fail on those among `failing`. */
function machine({ refusing = [], failing = [] }: { refusing?: string[]; failing?: string[] }) {
  const closed: string[] = [];
  const load = async ({ providers }: HostLoadOptions): Promise<LoadedEngine> => {
    const provider = providers.find((name) => !refusing.includes(name));
    if (provider === undefined) throw new PlatformError('INFERENCE_FAILED', 'No provider takes the graph.');
    const before = providers.slice(0, providers.indexOf(provider));
    const engine = { close: async () => void closed.push(provider) } as LoadedEngine['engine'];
    const providerNote = before.length === 0 ? null : before.map((name) => `${name} skipped: refused`).join('; ');
    return { engine, provider, providerNote, slots: 1 };
  };
  const firstRun = async ({ provider }: LoadedEngine): Promise<void> => {
    if (!failing.includes(provider)) return;
    const reason = `Gather requires f16 but ${provider} has none`;
    throw new PlatformError('INFERENCE_FAILED', 'The service failed to answer this request.', null, { reason });
  };
  return {
    closed,
    load: (providers: string[]) => loadOnProvider({ providers } as HostLoadOptions, { load, firstRun }),
  };
}

describe('a model', () => {
  it('is loaded on the first provider that takes and runs it', async () => {
    expect(await machine({}).load(['webgpu', 'cpu'])).toMatchObject({ provider: 'webgpu', providerNote: null });
  });

  it('goes to the next provider when its first run fails, with the reason of the runtime', async () => {
    const { load, closed } = machine({ refusing: ['cuda'], failing: ['webgpu'] });
    expect(await load(['cuda', 'webgpu', 'cpu'])).toMatchObject({
      provider: 'cpu',
      providerNote:
        'cuda skipped: refused; webgpu skipped: its first run failed: Gather requires f16 but webgpu has none',
    });
    expect(closed).toEqual(['webgpu']);
  });

  it('never ends on a provider that is not in the list, and says why none serves it', async () => {
    await expect(machine({ failing: ['webgpu'] }).load(['webgpu'])).rejects.toMatchObject({
      code: 'INFERENCE_FAILED',
      reason: 'Gather requires f16 but webgpu has none',
    });
    await expect(machine({ failing: ['cuda', 'webgpu'] }).load(['cuda', 'webgpu'])).rejects.toMatchObject({
      reason:
        'cuda skipped: its first run failed: Gather requires f16 but cuda has none; Gather requires f16 but webgpu has none',
    });
    await expect(machine({ failing: ['webgpu'], refusing: ['cpu'] }).load(['webgpu', 'cpu'])).rejects.toMatchObject({
      message: 'No provider takes the graph.',
      reason:
        'webgpu skipped: its first run failed: Gather requires f16 but webgpu has none; No provider takes the graph.',
    });
  });
});
