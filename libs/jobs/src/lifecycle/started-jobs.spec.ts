import { describe, expect, it } from 'vitest';
import { createLogger } from '#platform/logging';
import { StartedJobs } from './started-jobs.js';

describe('StartedJobs', () => {
  it('writes what has started in one batch, and nothing that has ended by then', async () => {
    const written: string[][] = [];
    const started = new StartedJobs(
      (requestIds) => Promise.resolve(void written.push(requestIds)),
      createLogger('test', { level: 'silent' }),
    );
    started.add('long');
    started.add('quick');
    started.add('also long');
    started.remove('quick');
    await started.close();
    expect(written).toEqual([['long', 'also long']]);
  });

  it('writes nothing when all have ended', async () => {
    const written: string[][] = [];
    const started = new StartedJobs(
      (requestIds) => Promise.resolve(void written.push(requestIds)),
      createLogger('test', { level: 'silent' }),
    );
    started.add('quick');
    started.remove('quick');
    await started.close();
    expect(written).toEqual([]);
  });
});
