import { describe, expect, it } from 'vitest';
import type { InstallationProgress } from '#model-registry/installations';
import type { ModelManifest } from '#model-registry/manifest';
import type { PullProgress } from '#model-store';
import { InstallProgress } from './install-progress.js';

function progressOf(bytes: readonly (number | undefined)[]) {
  const reports: InstallationProgress[] = [];
  let nowMs = 0;
  const files = bytes.map((size, index) => ({ path: `file-${index}`, ...(size !== undefined && { bytes: size }) }));
  const manifest = { sources: [{ uri: 'hf:a/b', files }] } as unknown as Pick<ModelManifest, 'sources'>;
  const progress = new InstallProgress(
    manifest,
    (report) => reports.push(report),
    () => nowMs,
  );
  const update = (stage: PullProgress['stage'], file: string, done: number, total: number | null): void => {
    nowMs += 1_000;
    progress.update({ modelId: 'm', stage, file, done, total });
  };
  return { reports, progress, update };
}

describe('the progress of an installation', () => {
  it('counts the bytes of all files while they are downloaded', () => {
    const { reports, update } = progressOf([100, 50]);
    update('download', 'file-0', 100, 100);
    update('download', 'file-1', 20, 50);
    expect(reports).toEqual([
      { stage: 'download', file: 'file-0', done: 100, total: 150, unit: 'bytes' },
      { stage: 'download', file: 'file-1', done: 120, total: 150, unit: 'bytes' },
    ]);
  });

  it('counts one file where the manifest does not state every size, and the steps of a conversion', () => {
    const { reports, update } = progressOf([100, undefined]);
    update('download', 'file-1', 20, null);
    update('convert', 'gguf', 3, 9);
    expect(reports).toEqual([
      { stage: 'download', file: 'file-1', done: 20, total: null, unit: 'bytes' },
      { stage: 'convert', file: 'gguf', done: 3, total: 9, unit: 'steps' },
    ]);
  });

  it('is told a few times per second, and whenever a stage begins or a file is complete', () => {
    const { reports, progress } = progressOf([100]);
    for (let done = 0; done <= 100; done += 1) {
      progress.update({ modelId: 'm', stage: 'download', file: 'file-0', done, total: 100 });
    }
    progress.update({ modelId: 'm', stage: 'verify', file: 'file-0', done: 0, total: 100 });
    expect(reports.map(({ stage, done }) => [stage, done])).toEqual([
      ['download', 0],
      ['download', 100],
      ['verify', 0],
    ]);
  });
});
