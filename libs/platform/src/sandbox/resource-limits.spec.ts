import { describe, expect, it } from 'vitest';
import { limitCommands } from './resource-limits.js';

describe('limitCommands', () => {
  it('rounds up to the units of a shell', () => {
    expect(limitCommands({ memoryBytes: 1_025, cpuSeconds: 0.2, fileBytes: 513, openFiles: 64 })).toEqual({
      memory: 'ulimit -d 2',
      'processor time': 'ulimit -S -t 1 && ulimit -H -t 3',
      'file size': 'ulimit -f 2',
      'open files': 'ulimit -n 64',
      'core dumps': 'ulimit -c 0',
    });
  });

  it('allows no file at all', () => {
    expect(limitCommands({ memoryBytes: 1, cpuSeconds: 1, fileBytes: 0, openFiles: 1 })['file size']).toBe(
      'ulimit -f 0',
    );
  });
});
