import { describe, expect, it } from 'vitest';
import type { InstallationProgress } from '../../api/installation-responses.js';
import { isOpen, progressPercent, progressText } from './progress-text.js';

const download: InstallationProgress = { stage: 'download', file: 'a.gguf', done: 1_500, total: 6_000, unit: 'bytes' };

describe('the progress of an installation', () => {
  it('says what happens, and how much of it is done', () => {
    expect(progressText({ state: 'waiting', progress: null })).toContain('Waiting');
    expect(progressText({ state: 'pulling', progress: null })).toBe('Starting');
    expect(progressText({ state: 'pulling', progress: download })).toBe('Downloading a.gguf: 1.5 kB of 6.0 kB');
    expect(progressText({ state: 'pulling', progress: { ...download, total: null } })).toBe(
      'Downloading a.gguf: 1.5 kB',
    );
    const convert: InstallationProgress = {
      ...download,
      stage: 'convert',
      file: 'gguf',
      unit: 'steps',
      done: 3,
      total: 9,
    };
    expect(progressText({ state: 'converting', progress: convert })).toBe('Converting gguf: step 3 of 9');
    const check: InstallationProgress = { ...convert, stage: 'check', file: null, total: null };
    expect(progressText({ state: 'registering', progress: check })).toBe('Running a prompt');
  });

  it('is a share of the whole where the whole is known', () => {
    expect(progressPercent(download)).toBe(25);
    expect(progressPercent({ ...download, done: 7_000 })).toBe(100);
    expect([progressPercent(null), progressPercent({ ...download, total: null })]).toEqual([null, null]);
  });

  it('goes on until the installation has ended', () => {
    expect(isOpen({ state: 'converting' })).toBe(true);
    expect(isOpen({ state: 'cancelled' })).toBe(false);
  });
});
