import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serviceVersion } from './service-version.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-stamp-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function versionWith(content: string): string {
  const path = join(folder, '.built');
  writeFileSync(path, content);
  return serviceVersion(pathToFileURL(path));
}

describe('serviceVersion', () => {
  it('is the build time', () => {
    expect(versionWith('2026-11-20T08:09:10.123Z\n')).toBe('20261120.080910');
  });

  it('falls back to the modification time of the file when the stamp is missing or invalid', () => {
    const own = serviceVersion(pathToFileURL(join(folder, 'missing')));
    expect(own).toMatch(/^\d{8}\.\d{6}$/);
    expect(versionWith('yesterday')).toBe(own);
  });
});
