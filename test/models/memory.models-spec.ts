import { forkHost, hostLoadOptions, HostSupervisor } from '#inference/host';
import { readDecoderSize } from '#model-store/memory';
import { decoderMemory, type DecoderUse, peakBytes } from '#model-memory';
import { describe, expect, it } from 'vitest';
import { readPeak } from '#test/measure-peak';
import { converse, whileReady } from '#test/running-host';
import { sourcePath } from '#test/source-program';
import { installedWeights } from './starter-weights.js';

/* The built host, since the loader of the sources takes memory of its own. */
const launch = forkHost({
  modulePath: sourcePath('dist/libs/inference/src/host/model-host.main.js'),
  execArgv: [],
  // As in the images.
  env: () => ({
    ...process.env,
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '65536',
    MALLOC_TRIM_THRESHOLD_: '65536',
  }),
});

interface Case {
  id: string;
  use: DecoderUse;
  words: number;
  answer: number;
}

/** Requests that fill their context together. */
function filled(id: string, slots: number, contextLength: number, answer: number): Case {
  const use = { slots, contextLength, cacheTokens: slots * contextLength };
  return { id, use, words: contextLength - answer - 16, answer };
}

/** The peak does not depend on how busy the machine is. */
const within = 0.1;

describe('the memory of a text model', () => {
  it.each([filled('stories-15m', 32, 256, 120), filled('stories-15m', 1, 256, 40)])(
    'is estimated: $id with $use.slots requests of $use.contextLength tokens',
    async (each) => {
      const { manifest, folder } = await installedWeights(each.id);
      const size = await readDecoderSize(folder, manifest);
      if (size === null) throw new Error('the graph is no decoder');
      const estimate = peakBytes(decoderMemory(size, each.use));
      const options = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2 });
      const host = new HostSupervisor({ load: { ...options, ...each.use }, launch });
      await whileReady(host, async (pid) => {
        await converse(host, { ...each, count: each.use.slots });
        const ratio = estimate / (await readPeak(pid));
        expect(ratio).toBeGreaterThan(1 - within);
        expect(ratio).toBeLessThan(1 + within);
      });
    },
  );
});
