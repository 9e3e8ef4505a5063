import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { sourcePath } from '#test/source-program';

describe('a script', () => {
  const scripts = [
    'advisories',
    'bench',
    'check',
    'check-advisories',
    'dashboard-images',
    'dashboards',
    'generate-observability',
    'nightly',
    'refresh-advisories',
    'release',
    'test',
    'test-clients',
    'test-node-versions',
    'tour',
  ];
  const run = (name: string, ...args: string[]) =>
    spawnSync(process.execPath, [sourcePath(`scripts/${name}.mjs`), ...args], { encoding: 'utf8' });

  it.each(scripts)('%s prints its help, and one line for an unknown option', (name) => {
    const help = run(name, '--help');
    expect([help.status, help.stdout, help.stderr]).toEqual([0, expect.stringMatching(/^npm .*\n[^]*--help/), '']);
    const unknown = run(name, '--no-such-option');
    const line = "Unknown option '--no-such-option'. --help lists the options.\n";
    expect([unknown.status, unknown.stdout, unknown.stderr]).toEqual([2, '', line]);
  });
});
