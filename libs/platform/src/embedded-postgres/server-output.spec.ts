import { describe, expect, it } from 'vitest';
import { failureReason, saysDiskFull, workingFolder } from './server-output.js';

describe('saysDiskFull', () => {
  it.each([
    'FATAL:  could not write lock file "postmaster.pid": No space left on device',
    'PANIC:  could not write to file "pg_wal/xlogtemp.66": No space left on device',
    'FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 9 HINT:  Check free disk space.',
    'initdb: error: could not create directory: Disk quota exceeded',
  ])('recognizes %s', (line) => {
    expect(saysDiskFull(line)).toBe(true);
  });

  it('recognizes nothing else', () => {
    expect(saysDiskFull('FATAL:  data directory "/srv/postgres" has wrong ownership')).toBe(false);
    expect(saysDiskFull('')).toBe(false);
  });
});

describe('failureReason', () => {
  it('joins the telling lines without their prefixes, and names the data folder', () => {
    const lines = [
      '2026-11-29 16:40:01.123 UTC [17] LOG:  starting PostgreSQL 18.4',
      `2026-11-29 16:40:01.124 UTC [17] FATAL:  could not open file "${workingFolder}/global/pg_control"`,
    ];
    expect(failureReason(lines, '/srv/postgres')).toBe('FATAL: could not open file "/srv/postgres/global/pg_control"');
  });
});
