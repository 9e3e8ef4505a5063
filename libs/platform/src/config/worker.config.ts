import {
  Matches,
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { QueueConfig } from './base.config.js';
import { type MemoryBudgetSetting, parseMemoryBudget } from './memory-budget.js';
import { parseProviderLibraries, type ProviderLibrarySetting } from './provider-libraries.js';
import {
  AllowSoftwareGpuVariable,
  FfmpegVariable,
  ProviderLibrariesVariable,
  ProvidersVariable,
} from './shared.variables.js';
import { ChoiceVariable, IntegerVariable, ListVariable, PortVariable, TextVariable } from './variable.js';

const oneDayMs = 86_400_000;

/** A worker has no database password: it only connects to Redis or through the restricted role of a Postgres queue. */
@ValidatorConstraint({ name: 'queueUrlIsSet' })
class QueueUrlIsSet implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    const config = object as QueueConfig;
    return Boolean(config.explicitQueueUrl ?? config.redisUrl);
  }

  defaultMessage(): string {
    return 'SLUICE_QUEUE_URL or REDIS_URL is not set; expected a URL such as redis://host:6379. Workers do not use DATABASE_URL.';
  }
}

export class WorkerConfig extends QueueConfig {
  @ListVariable('SLUICE_MODELS', {
    about:
      'Models to serve besides those placed in its pools: ids, sets, `all` or `none`; default: `starter`, or `none` with SLUICE_POOL.',
    optional: true,
  })
  explicitModels?: string[];

  @ListVariable('SLUICE_POOL', {
    about: 'Pools whose placed models this worker serves.',
    default: '',
    expected: 'words of a-z, 0-9, ., _ and - separated by commas',
  })
  @Matches(/^[a-z0-9][a-z0-9._-]{0,62}$/, { each: true })
  pools!: string[];

  @TextVariable('NODE_NAME', {
    about: 'Machine that `sluice workers list` shows; default: its host name.',
    optional: true,
    pattern: /^[\w.-]{1,200}$/,
    expected: 'a host name',
  })
  nodeName?: string;

  @TextVariable('POD_NAME', {
    about: 'Pod that `sluice workers list` shows.',
    optional: true,
    pattern: /^[\w.-]{1,200}$/,
    expected: 'the name of a pod',
  })
  podName?: string;

  @TextVariable('SLUICE_MEMORY_BUDGET', {
    about:
      'Memory for the models of this worker, such as `cpu=6GiB,cuda=50%`; default: 90% of the machine, cgroup, GPU or MIG slice.',
    optional: true,
    pattern: /^(cpu|cuda)=\d{1,7}(\.\d{1,3})?(MiB|GiB|%)(\s*,\s*(cpu|cuda)=\d{1,7}(\.\d{1,3})?(MiB|GiB|%))*$/,
    expected: '`cpu=` or `cuda=` and a number of MiB, GiB or %, separated by commas',
  })
  memoryBudgetText?: string;

  @IntegerVariable('SLUICE_MIN_RESIDENCY_MS', {
    about: 'Time a model stays loaded before it may be evicted.',
    default: 60_000,
    min: 0,
    max: oneDayMs,
  })
  minResidencyMs!: number;

  @TextVariable('SLUICE_WORKER_HOST', {
    about: 'Address of its health and metrics server.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  host!: string;

  @PortVariable('SLUICE_WORKER_PORT', {
    about: 'Port of its health and metrics server; 0: a free one.',
    default: 3001,
  })
  port!: number;

  @IntegerVariable('SLUICE_DRAIN_MS', {
    about: 'Time running jobs may take after a stop signal.',
    default: 25_000,
    min: 0,
    max: 3_600_000,
  })
  drainMs!: number;

  @IntegerVariable('SLUICE_PICKUP_TIMEOUT_MS', {
    about: 'Time a free worker may take no waiting job before it reconnects to the queue.',
    default: 30_000,
    min: 500,
    max: 3_600_000,
  })
  pickupTimeoutMs!: number;

  @IntegerVariable('SLUICE_HOST_SILENCE_MS', {
    about:
      'Silence after which an idle host of a text model is restarted; four times as long if it computes, forty times if it gets no processor.',
    default: 15_000,
    min: 2_000,
    max: 3_600_000,
  })
  hostSilenceMs!: number;

  @IntegerVariable('SLUICE_MEDIA_HOST_SILENCE_MS', {
    about: 'The same for models of other types.',
    default: 120_000,
    min: 2_000,
    max: 3_600_000,
  })
  mediaHostSilenceMs!: number;

  @IntegerVariable('SLUICE_THREADS', {
    about: 'Threads per model; default: by the number of cores.',
    optional: true,
    min: 1,
    max: 1_024,
  })
  threads?: number;

  @IntegerVariable('SLUICE_SLOTS', {
    about: 'Sequences each model runs at once; default: set by its manifest.',
    optional: true,
    min: 1,
    max: 1_024,
  })
  slots?: number;

  @IntegerVariable('SLUICE_DRAFT_TOKENS', {
    about:
      'Most tokens that a step of a text computes ahead where its last ones occur earlier in its prompt or output. ' +
      '0: none.',
    default: 8,
    min: 0,
    max: 64,
  })
  draftTokens!: number;

  @ChoiceVariable('SLUICE_TEE', {
    about: 'Evidence for keys of model hosts (docs/guides/tee.md); `software` proves nothing.',
    default: 'off',
    choices: ['off', 'auto', 'tdx', 'sev-snp', 'software'],
  })
  tee!: 'off' | 'auto' | 'tdx' | 'sev-snp' | 'software';

  @FfmpegVariable()
  ffmpeg!: string;

  @ProvidersVariable()
  providers!: string[];

  @ProviderLibrariesVariable()
  providerLibraryTexts!: string[];

  @AllowSoftwareGpuVariable()
  allowSoftwareGpu!: boolean;

  get providerLibraries(): ProviderLibrarySetting[] {
    return parseProviderLibraries(this.providerLibraryTexts);
  }

  get models(): string[] {
    return this.explicitModels ?? (this.pools.length > 0 ? [] : ['starter']);
  }

  get memoryBudget(): MemoryBudgetSetting[] {
    return parseMemoryBudget(this.memoryBudgetText ?? '');
  }

  /** URL of the queue; validated at load. */
  @Validate(QueueUrlIsSet)
  get queueUrl(): string {
    return this.explicitQueueUrl ?? this.redisUrl ?? '';
  }
}
