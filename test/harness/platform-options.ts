import type { ModelManifest } from '#model-registry/manifest';
import type { Site } from './site.js';
import type { TinyModelOptions } from './tiny-models.js';

export type PlatformRole = 'api' | 'worker' | 'ops';
export type WiredStore = 'queue' | 'database';

/** The first process of a role has its name, further ones a number from 2: `api-2`. */
export type PlatformProcess = PlatformRole | `${PlatformRole}-${number}`;

/** Workers with the credentials of a pool, and the models that they serve and no other worker does. */
export interface PlatformPool {
  workers: readonly PlatformProcess[];
  models: readonly string[];
}

export interface PlatformOptions {
  /** Tiny models to generate; default: one named `tiny-llama`. */
  models?: TinyModelOptions[];
  /** Queue transport; default: Postgres. */
  transport?: 'postgres' | 'redis';
  /** `deterministic`: words from a hash, controlled by directives. `text`: the real engine. Default: deterministic. */
  engine?: 'deterministic' | 'text';
  /** Start timeout of processes and models; default: 150 s. */
  startWithinMs?: number;
  /** Additional environment of every process. */
  env?: Record<string, string>;
  /** Additional environment of single processes. */
  processEnv?: Partial<Record<PlatformProcess, Record<string, string>>>;
  /** A home with installed models instead of a new one; it is not deleted. */
  home?: string;
  /**
   * Rate limits of the account and the block after failures. `contract` uses the defaults of the product. Default:
   * `unbounded`, far above what tests need; requests are still counted.
   */
  limits?: 'unbounded' | 'contract';
  /** Balance of the account, in nano-USD; default: 1000 USD. */
  creditNano?: bigint;
  /** Manifests of the models in `home`. */
  manifests?: ModelManifest[];
  /** Models that the worker's `SLUICE_MODELS` omits, for tests that place them in its pool. */
  unnamed?: string[];
  /** Pools by name whose workers get credentials of their own, from the command line of `dist`. */
  pools?: Record<string, PlatformPool>;
  /** Number of processes per role; default: one each. */
  replicas?: Partial<Record<PlatformRole, number>>;
  /** A folder of other compiled code that the processes start from at first; default: `dist` of this project. */
  dist?: string;
  /** A PostgreSQL server for this platform only, for tests that stop it; default: the shared server. */
  ownPostgres?: boolean;
  /** Called with all output of the processes. */
  onLog?: (text: string) => void;
  /** Adds a breakable connection between each process and each store: `platform.wire('api', 'queue')`. */
  wires?: boolean;
  /** Additional `redis-server` options, e.g. `['--appendonly', 'yes']`. */
  redisArguments?: string[];
  /** Default: everything on the loopback of this machine. Another site needs `ownPostgres`. */
  site?: Site;
}
