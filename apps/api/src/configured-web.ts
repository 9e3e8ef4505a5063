import type { WebProviders } from '#model-registry';
import { Injectable } from '#platform/injection';
import { WebSearch } from '#web';

/** What of the web the operator of this installation configured. */
@Injectable()
export class ConfiguredWeb implements WebProviders {
  constructor(private readonly search: WebSearch) {}

  get canSearch(): boolean {
    return this.search.isConfigured;
  }

  hasProvider(name: string): boolean {
    return this.search.hasProvider(name);
  }
}
