/** A library with an execution provider, and the name of that provider in lists. */
export interface ProviderLibrarySetting {
  provider: string;
  path: string;
}

/** `<provider>=<absolute path>`. The processor always is that of the runtime. */
export const providerLibraryPattern = /^(?!cpu=)[a-z][a-z0-9_-]{0,31}=(\/|[A-Za-z]:[\\/]).{1,4096}$/;

/** Parses the words of `SLUICE_PROVIDER_LIBRARIES`, which were checked. */
export function parseProviderLibraries(words: readonly string[]): ProviderLibrarySetting[] {
  return words.map((word) => {
    const at = word.indexOf('=');
    return { provider: word.slice(0, at), path: word.slice(at + 1) };
  });
}
