import type { WebProviders } from '#model-registry';
import type { WebSearch } from '#web';

/** What of the web the operator of this installation configured. */
export class ConfiguredWeb implements WebProviders {
  constructor(private readonly search: Pick<WebSearch, 'isConfigured' | 'hasProvider'>) {}

  get canSearch(): boolean {
    return this.search.isConfigured;
  }

  hasProvider(name: string): boolean {
    return this.search.hasProvider(name);
  }
}
