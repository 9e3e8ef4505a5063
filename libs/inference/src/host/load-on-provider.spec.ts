import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { HostLoadOptions, LoadedEngine } from '../contract/engine-loader.js';
import { GraphRunError } from '../runtime/graph-run-error.js';
import { loadOnProvider } from './load-on-provider.js';

interface Machine {
  /** Providers that take no graph. */
  refusing?: string[];
  /** Providers on which a run that is part of the load fails. */
  failingInLoad?: string[];
  /** Providers on which the first run fails. */
  failing?: string[];
}

/** Loads models as families do: on the first provider of a list that takes the graph. */
function machine({ refusing = [], failingInLoad = [], failing = [] }: Machine) {
  const closed: string[] = [];
  const loads: string[][] = [];
  const load = async ({ providers }: HostLoadOptions): Promise<LoadedEngine> => {
    loads.push(providers);
    const provider = providers.find((name) => !refusing.includes(name));
    if (provider === undefined)
      throw new PlatformError('INFERENCE_FAILED', 'refused', null, { cause: new Error('no libraries') });
    if (failingInLoad.includes(provider)) throw failedRun(provider);
    const before = providers.slice(0, providers.indexOf(provider));
    const engine = { close: async () => void closed.push(provider) } as LoadedEngine['engine'];
    const providerNote = before.length === 0 ? null : before.map((name) => `${name} skipped: refused`).join('; ');
    return { engine, provider, providerNote, slots: 1 };
  };
  const firstRun = async ({ provider }: LoadedEngine): Promise<void> => {
    if (failing.includes(provider)) throw failedRun(provider);
  };
  return {
    closed,
    loads,
    load: (providers: string[], skippedProviders?: string[]) =>
      loadOnProvider({ providers, skippedProviders } as HostLoadOptions, { load, firstRun }),
  };
}

function failedRun(provider: string): PlatformError {
  return new GraphRunError(provider, new Error(`Gather requires f16 but ${provider} has none`));
}

describe('a model', () => {
  it('is loaded once, on the first provider that takes and runs it', async () => {
    const { load, loads, closed } = machine({ refusing: ['cuda'] });
    const providerNote = 'cuda skipped: refused';
    expect(await load(['cuda', 'webgpu', 'cpu'])).toMatchObject({ provider: 'webgpu', providerNote });
    expect([loads.length, closed]).toEqual([1, []]);
  });

  it.each([{ failing: ['webgpu'] }, { failingInLoad: ['webgpu'] }])(
    'goes to the next provider when a first run fails, with the reason of the runtime: %j',
    async (failing) => {
      const { load, loads, closed } = machine({ refusing: ['cuda'], ...failing });
      expect(await load(['cuda', 'webgpu', 'cpu'])).toMatchObject({
        provider: 'cpu',
        providerNote: 'cuda skipped: no libraries; webgpu skipped: Gather requires f16 but webgpu has none',
      });
      expect(closed.every((provider) => provider === 'webgpu')).toBe(true);
      // The provider that failed is not loaded once more.
      expect(loads).toEqual([['cuda', 'webgpu', 'cpu'], ['cuda'], ['cpu']]);
    },
  );

  it('never ends on a provider that is not in the list, and says why none serves it', async () => {
    await expect(machine({ failing: ['webgpu'] }).load(['webgpu'])).rejects.toMatchObject({
      code: 'INFERENCE_FAILED',
      reason: 'Gather requires f16 but webgpu has none',
    });
    await expect(machine({ failing: ['webgpu'], refusing: ['cpu'] }).load(['webgpu', 'cpu'])).rejects.toMatchObject({
      message: 'The model runs on none of the providers.',
      reason: 'webgpu skipped: Gather requires f16 but webgpu has none; cpu skipped: no libraries',
    });
  });

  it('that no provider takes is not tried again', async () => {
    const { load, loads } = machine({ refusing: ['webgpu', 'cpu'] });
    await expect(load(['webgpu', 'cpu'])).rejects.toThrow('refused');
    expect(loads).toHaveLength(1);
  });

  it('says why providers were left out before', async () => {
    const skipped = ['webgpu skipped: slower'];
    expect(await machine({}).load(['cpu'], skipped)).toMatchObject({ provider: 'cpu', providerNote: skipped[0] });
    await expect(machine({}).load([], skipped)).rejects.toMatchObject({
      reason: 'webgpu skipped: slower; cpu is not among the providers',
    });
    await expect(machine({ refusing: ['cpu'] }).load(['cpu'], skipped)).rejects.toMatchObject({
      reason: 'webgpu skipped: slower; refused',
    });
  });
});
