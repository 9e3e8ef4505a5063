import { dirname, join } from 'node:path';
import Config from '@npmcli/config';
import npmDefinitions from '@npmcli/config/lib/definitions/index.js';

/** Options of the npm registry client, as npm itself would use them in this folder. */
export type NpmOptions = Record<string, unknown> & { registry?: string; replaceRegistryHost?: string };

/**
 * Reads the user's npm configuration: registry, scopes, credentials, proxies and certificates from `.npmrc` files and
 * `npm_config_…`. Model packages come from the same registry as the user's other packages.
 */
export async function readNpmOptions(): Promise<NpmOptions> {
  const config = new Config({
    ...npmDefinitions,
    npmPath: join(dirname(dirname(process.execPath)), 'lib', 'node_modules', 'npm'),
    // Our own command line is not npm's.
    argv: [process.execPath, 'sluice'],
    warn: false,
  });
  await config.load();
  return config.flat;
}
