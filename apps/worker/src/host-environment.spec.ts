import { afterEach, expect, it, vi } from 'vitest';
import { hostEnvironment } from './host-environment.js';

afterEach(() => void vi.unstubAllEnvs());

const allocator = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' };
const credentials = { SLUICE_QUEUE_URL: 'redis://somewhere', SLUICE_QUEUE_KEY: 'secret' };

function stubAll(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

it('gives a host no credentials, and the allocator settings only where it takes whole images', () => {
  stubAll({ ...allocator, ...credentials });
  for (const family of ['esrgan', 'migan', 'modnet', 'u2net'])
    expect(hostEnvironment({ family })).toMatchObject(allocator);
  for (const family of ['decoder', 'rife', 'stable-diffusion']) {
    for (const name of Object.keys(allocator)) expect(hostEnvironment({ family })).not.toHaveProperty(name);
  }
  for (const name of Object.keys(credentials)) expect(hostEnvironment({ family: 'esrgan' })).not.toHaveProperty(name);
});

it('lets the runtime report nothing', () => {
  for (const family of ['decoder', 'esrgan', 'stable-diffusion']) {
    expect(hostEnvironment({ family })).toMatchObject({ ORT_DISABLE_TELEMETRY: '1' });
  }
});

it('maps images in huge pages, unless the operator has other tunables', () => {
  vi.stubEnv('GLIBC_TUNABLES', undefined);
  for (const family of ['modnet', 'stable-diffusion']) {
    expect(hostEnvironment({ family })).toMatchObject({ GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' });
  }
  expect(hostEnvironment({ family: 'decoder' })).not.toHaveProperty('GLIBC_TUNABLES');
  vi.stubEnv('GLIBC_TUNABLES', 'glibc.malloc.hugetlb=0');
  expect(hostEnvironment({ family: 'modnet' })).toMatchObject({ GLIBC_TUNABLES: 'glibc.malloc.hugetlb=0' });
});
