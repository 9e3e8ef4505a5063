import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeLibraryDevice, isOfLibrary, libraryDevice, registerProviderLibraries } from './provider-libraries.js';

/** A library of the system's format, but without the functions of a provider. */
const strangeLibrary = join(
  dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')),
  `bin/napi-v6/${process.platform}/${process.arch}/onnxruntime_binding.node`,
);

it('refuses files that are no library of a provider, with the reason', () => {
  const register = (path: string) => registerProviderLibraries([{ provider: 'other', path }]);
  expect(() => register('/nowhere/provider.so')).toThrow('there is no such file');
  for (const path of [fileURLToPath(import.meta.url), strangeLibrary]) {
    expect(() => register(path)).toThrow(/^it is no library of an execution provider: /);
  }
  expect(isOfLibrary('other')).toBe(false);
  expect(describeLibraryDevice('other')).toBeNull();
  expect(() => libraryDevice('other')).toThrow('its library has no device here');
});
