import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDecoder, openGraph } from '#inference';
import { hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { buildTinyModel } from '#test/tiny-models';
import { measureCell } from './decode-grid.js';

let folder: string;
beforeAll(async () => {
  vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES);
  folder = await mkdtemp(join(tmpdir(), 'sluice-grid-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Bus bytes of a token in each cell, for a tiny model as a worker opens it on a provider. */
async function busBytes(provider: string, cells: readonly (readonly [streams: number, positions: number])[]) {
  const home = join(folder, provider);
  const { graphFile } = await buildTinyModel(home);
  const options = { modelPath: join(home, graphFile), providers: [provider], intraOpThreads: 1, isDecoder: true };
  const session = await openGraph(options);
  const decoder = openDecoder(session, { slots: 4 });
  const found: (number | null)[] = [];
  for (const [streams, positions] of cells) {
    const cell = await measureCell(decoder, session.device ?? null, { streams, positions, steps: 3 });
    expect(cell.stepMs).toBeGreaterThan(0);
    found.push(cell.busBytesPerToken);
  }
  await decoder.close();
  return found;
}

describe('a cell of the grid', softwareGpuTimeouts, () => {
  it('counts no bus on the processor', async () => {
    expect(
      await busBytes('cpu', [
        [1, 5],
        [3, 70],
      ]),
    ).toEqual([null, null]);
  });

  it.each(hasSoftwareGpu ? ['webgpu'] : [])(
    'moves tokens and the 64 best on %s, whatever the number of rows and of their positions',
    async (provider) => {
      const cells = [
        [1, 5],
        [1, 150],
        [3, 5],
        [3, 150],
      ] as const;
      // By row: a token, its place and a wanted token, its length; the 64 best with their ids, a sum and a wanted logit.
      const row = 3 * 8 + 4 + 64 * (4 + 8) + 4 + 4;
      // By run: the length of the longest row.
      expect(await busBytes(provider, cells)).toEqual(cells.map(([streams]) => row + 4 / streams));
    },
  );
});
