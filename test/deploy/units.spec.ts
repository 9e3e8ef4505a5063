import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ApiConfig, OpsConfig, variablesOf, WorkerConfig } from '#platform/config';

const root = join(import.meta.dirname, '..', '..');
const units = { api: ApiConfig, ops: OpsConfig, worker: WorkerConfig };

/** The values of a directive, in order. */
function valuesOf(unit: string, directive: string): string[] {
  const text = readFileSync(join(root, 'deploy', 'systemd', `sluice-${unit}.service`), 'utf8');
  return [...text.matchAll(new RegExp(`^${directive}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');
}

describe.each(Object.entries(units))('deploy/systemd/sluice-%s.service', (unit, config) => {
  it('starts a program of this repository', () => {
    const [command = ''] = valuesOf(unit, 'ExecStart');
    const [, program = ''] = /^\/usr\/bin\/node dist\/(apps\/\w+\/src\/main)\.js$/.exec(command) ?? [];
    expect(existsSync(join(root, `${program}.ts`)), command).toBe(true);
  });

  it('sets variables that the process reads, and lets other machines reach its ports', () => {
    const set = valuesOf(unit, 'Environment').flatMap((line) => line.split(' '));
    const known = ['NODE_ENV', ...variablesOf(config).map(({ name }) => name)];
    expect(set.map((variable) => variable.split('=')[0] ?? '').filter((name) => !known.includes(name))).toEqual([]);
    const health = { api: 'SLUICE_API_HEALTH_HOST', ops: 'SLUICE_OPS_HOST', worker: 'SLUICE_WORKER_HOST' }[unit];
    expect(set).toContain(`${health}=0.0.0.0`);
  });

  it('has no capability, and writes to its state folder only', () => {
    expect(valuesOf(unit, 'CapabilityBoundingSet')).toEqual(['']);
    expect(valuesOf(unit, 'NoNewPrivileges')).toEqual(['yes']);
    expect(valuesOf(unit, 'ProtectSystem')).toEqual(['strict']);
    expect(valuesOf(unit, 'User')).toEqual(['sluice']);
    expect(valuesOf(unit, 'StateDirectory')).toEqual(['sluice']);
  });
});

it('keeps the secrets of api and ops away from workers', () => {
  expect(valuesOf('worker', 'EnvironmentFile')).not.toContain('/etc/sluice/trusted.env');
  for (const unit of ['api', 'ops']) expect(valuesOf(unit, 'EnvironmentFile')).toContain('/etc/sluice/trusted.env');
});
