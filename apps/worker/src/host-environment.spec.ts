import { afterEach, expect, it, vi } from 'vitest';
import { hostEnvironment } from './host-environment.js';

afterEach(() => void vi.unstubAllEnvs());

it('gives a host no credentials, and the allocator settings only where glibc holds images alone', () => {
  const allocator = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' };
  const credentials = { SLUICE_QUEUE_URL: 'redis://somewhere', SLUICE_QUEUE_KEY: 'secret' };
  for (const [name, value] of Object.entries({ ...allocator, ...credentials })) vi.stubEnv(name, value);
  expect(hostEnvironment({ family: 'esrgan' })).toMatchObject(allocator);
  for (const family of ['decoder', 'stable-diffusion']) {
    for (const name of Object.keys(allocator)) expect(hostEnvironment({ family })).not.toHaveProperty(name);
  }
  for (const name of Object.keys(credentials)) expect(hostEnvironment({ family: 'esrgan' })).not.toHaveProperty(name);
});
