import { hasSoftwareGpu, providerLibrary } from '#test/software-gpu';
import { registerProviderLibraries } from './c-api/provider-libraries.js';

/** Providers on which suites of sessions and caches run. */
export function providersUnderTest(): string[] {
  if (providerLibrary !== undefined) registerProviderLibraries([{ provider: 'library', path: providerLibrary }]);
  return ['cpu', ...(hasSoftwareGpu ? ['webgpu'] : []), ...(providerLibrary === undefined ? [] : ['library'])];
}
