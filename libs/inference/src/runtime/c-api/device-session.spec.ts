import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { buildTinyModel } from '#test/tiny-models';
import { DeviceSession } from './device-session.js';
import { OrtApi } from './ort-api.js';

afterEach(() => void vi.restoreAllMocks());

it('releases what it has created when its graph cannot be described', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-session-'));
  const { graphFile } = await buildTinyModel(folder);
  const release = vi.spyOn(OrtApi.prototype, 'release');
  vi.spyOn(OrtApi.prototype, 'number').mockImplementation(() => {
    throw new Error('no such input');
  });
  const graph = { modelPath: join(folder, graphFile), intraOpThreads: 1 };
  await expect(DeviceSession.open(graph, { provider: 'cpu', providerNote: null })).rejects.toThrow('no such input');
  expect(release.mock.calls.map(([kind]) => kind).toSorted()).toEqual(['memoryInfo', 'session', 'sessionOptions']);
  await rm(folder, { recursive: true });
});
