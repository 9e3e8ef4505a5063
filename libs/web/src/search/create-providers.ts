import { Egress, systemResolver } from '#egress';
import type { SearchProviderName, SearchSettings } from '#platform/config';
import type { ProviderConnection } from './ask-provider.js';
import { BraveProvider } from './brave.provider.js';
import type { SearchProvider } from './search-provider.js';
import { SearxngProvider } from './searxng.provider.js';
import { SerperProvider } from './serper.provider.js';
import { TavilyProvider } from './tavily.provider.js';

type Create = (
  connections: { operator: ProviderConnection; public: ProviderConnection },
  secret: string,
) => SearchProvider;

const creators: Record<SearchProviderName, Create> = {
  searxng: ({ operator }, url) => new SearxngProvider(operator, url),
  brave: ({ public: connection }, key) => new BraveProvider(connection, key),
  tavily: ({ public: connection }, key) => new TavilyProvider(connection, key),
  serper: ({ public: connection }, key) => new SerperProvider(connection, key),
};

/** Returns the configured providers in their order. Only a server of the operator may have a private address. */
export function createProviders({ providers, timeoutMs }: SearchSettings): SearchProvider[] {
  // Its name may need the search domains of a cluster.
  const selfHosted = {
    egress: new Egress({ allowedNetworks: ['0.0.0.0/0', '::/0'], resolver: systemResolver }),
    timeoutMs,
  };
  const connections = { operator: selfHosted, public: { egress: new Egress(), timeoutMs } };
  return providers.map(({ name, secret }) => creators[name](connections, secret));
}
