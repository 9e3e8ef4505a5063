import type { ModelManifest } from '#model-registry/manifest';
import type { Site } from './site.js';
import type { TinyModelOptions } from './tiny-models.js';

export type PlatformRole = 'api' | 'worker' | 'ops';
export type WiredStore = 'queue' | 'database';

/** The first process of a role bears its name, further ones a number from 2: `api-2`. */
export type PlatformProcess = PlatformRole | `${PlatformRole}-${number}`;

export interface PlatformOptions {
  /** Tiny models to generate; default one named `tiny-llama`. */
  models?: TinyModelOptions[];
  /** Where the queue lives; default Postgres. */
  transport?: 'postgres' | 'redis';
  /** `deterministic`: words drawn from a hash, steered by directives. `text`: the product's engine. Default deterministic. */
  engine?: 'deterministic' | 'text';
  /** Further environment of every process. */
  env?: Record<string, string>;
  /** Further environment of single processes. */
  processEnv?: Partial<Record<PlatformProcess, Record<string, string>>>;
  /** A home with installed models instead of a fresh one; it is left in place. */
  home?: string;
  /**
   * Rate limits of the account and the block after failures: `contract` as callers have them. Default `unbounded`, far
   * above what tests need; each request is counted all the same.
   */
  limits?: 'unbounded' | 'contract';
  /** What the account can spend, in nano-USD; default 1000 USD. */
  creditNano?: bigint;
  /** Manifests of the models in `home`. */
  manifests?: ModelManifest[];
  /** Those of them that the worker's `SLUICE_MODELS` does not name, for tests that place them in its pool. */
  unnamed?: string[];
  /** How many processes of a role; default one each. */
  replicas?: Partial<Record<PlatformRole, number>>;
  /** A PostgreSQL server of this platform alone, for tests that stop it; default the server that the run shares. */
  ownPostgres?: boolean;
  /** Hears everything that the processes write, as they write it. */
  onLog?: (text: string) => void;
  /** Lays a wire that can be broken between each process and each store: `platform.wire('api', 'queue')`. */
  wires?: boolean;
  /** Further options of `redis-server`, e.g. `['--appendonly', 'yes']`. */
  redisArguments?: string[];
  /** Default: everything on the loopback of this machine; another one needs `ownPostgres`. */
  site?: Site;
}
