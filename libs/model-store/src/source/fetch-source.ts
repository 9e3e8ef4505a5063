import { fetchHubSource } from './hub.source.js';
import { fetchLocalSource } from './local.source.js';
import { fetchNpmSource } from './npm.source.js';
import { fetchWebSource } from './https.source.js';
import type { SourceFetcher } from './source-request.js';
import { parseSourceUri } from './source-uri.js';

/** Fetches the files of one source, whatever its kind. */
export const fetchSource: SourceFetcher = (request) => {
  const uri = parseSourceUri(request.source.uri);
  switch (uri.kind) {
    case 'npm':
      return fetchNpmSource(uri, request);
    case 'hf':
      return fetchHubSource(uri, request);
    case 'file':
      return fetchLocalSource(uri.path, request);
    case 'https':
      return fetchWebSource(uri.url, request);
  }
};
