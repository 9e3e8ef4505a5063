import type { AccountsService } from '#accounts';
import { PlatformError } from '#common';
import { type ProcessIdentity, processState, startCommand } from '#platform/process';
import type { ModelRegistryService } from '#model-registry';
import { createProgressReporter, type ProgressReporter, type SourceSettings } from '#model-store';
import { type CliConfig, forgetPostgresVariables } from '#platform/config';
import { readIfPresent } from '#platform/files';
import { runtimeFile } from '#platform/home';
import type { PrismaService } from '#platform/prisma';
import type { QueueTransport } from '#queue';
import { Output } from './output.js';
import type { CharacterDocuments, CharactersService } from '#characters';

export interface CliStreams {
  stdout?: NodeJS.WritableStream;
  stderr?: NodeJS.WriteStream;
  signal?: AbortSignal;
}

/** State file of the running installation of this home, as written by `npm start`. */
interface RuntimeFile extends ProcessIdentity {
  databaseUrl: string;
  /** The embedded one, which variables of libpq are not about. */
  hasOwnDatabase?: boolean;
  /** Absent: the queue is in the database. */
  queueUrl?: string;
  /** `SLUICE_QUEUE_KEY` and `SLUICE_SECRET_KEY` of api and ops. Absent: it was started by an earlier version. */
  queueKey?: string;
  secretKey?: string;
  baseUrl: string;
}

/**
 * Shared state of the commands: configuration, output, and the database if configured. Large libraries are imported on
 * demand, so that `--help` and file-only commands start fast.
 */
export class CliContext {
  readonly output: Output;
  readonly signal: AbortSignal;
  private readonly stderr: NodeJS.WriteStream;
  private prisma: PrismaService | null = null;
  private queue: Promise<QueueTransport> | null = null;

  constructor(
    readonly config: CliConfig,
    { stdout = process.stdout, stderr = process.stderr, signal = new AbortController().signal }: CliStreams = {},
  ) {
    this.output = new Output(stdout);
    this.stderr = stderr;
    this.signal = signal;
  }

  get sources(): SourceSettings {
    const { hubEndpoint, hubToken, pypiIndex, pinnedModelsOnly: pinnedOnly } = this.config;
    return { hubEndpoint, hubToken, pypiIndex, pinnedOnly };
  }

  /** Progress bars on stderr; stdout holds only the requested output. */
  progress(): ProgressReporter {
    return createProgressReporter({ stream: this.stderr });
  }

  /** Names the usual next command, on stderr, so that scripts read only the result. */
  next(command: string): void {
    this.stderr.write(`next: ${command}\n`);
  }

  /** What happens meanwhile, also on stderr. */
  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  /** The same context, whose output goes to stderr: for a command that is a step of another. */
  aside(): CliContext {
    return new CliContext(this.config, { stdout: this.stderr, stderr: this.stderr, signal: this.signal });
  }

  /** Also on stderr. */
  warn(text: string): void {
    this.stderr.write(`warning: ${text}\n`);
  }

  /** The model registry; null when no database is configured. Commands that only use files work without it. */
  async registry(): Promise<ModelRegistryService | null> {
    const prisma = await this.database();
    if (!prisma) return null;
    const { ModelRegistryService, ModelRepository, noOnlineModels } = await import('#model-registry');
    return new ModelRegistryService(new ModelRepository(prisma), noOnlineModels, { cacheMs: 0 });
  }

  async requireRegistry(): Promise<ModelRegistryService> {
    return (await this.registry()) ?? refuseWithoutDatabase();
  }

  async requireDatabase(): Promise<PrismaService> {
    return (await this.database()) ?? refuseWithoutDatabase();
  }

  async requireDatabaseUrl(): Promise<string> {
    return (await this.databaseUrl()) ?? refuseWithoutDatabase();
  }

  /** The configured database, or that of the running installation of this home; undefined if there is neither. */
  async databaseUrl(): Promise<string | undefined> {
    return this.config.databaseUrl ?? (await this.runtime())?.databaseUrl;
  }

  async requireAccounts(): Promise<AccountsService> {
    const prisma = await this.requireDatabase();
    const { AccountsRepository, AccountsService } = await import('#accounts');
    return new AccountsService(new AccountsRepository(prisma));
  }

  async requireCharacters(): Promise<CharactersService> {
    const prisma = await this.requireDatabase();
    const { CharactersRepository, CharactersService, ReviewsRepository } = await import('#characters');
    return new CharactersService(new CharactersRepository(prisma), new ReviewsRepository(prisma));
  }

  async requireDocuments(): Promise<CharacterDocuments> {
    const prisma = await this.requireDatabase();
    const { CharacterDocuments, DocumentsRepository } = await import('#characters');
    return new CharacterDocuments(new DocumentsRepository(prisma));
  }

  /**
   * The queue, on the bus of which this process listens and does not announce itself. With the key of the installation its
   * messages are those of the installation.
   */
  requireQueue(): Promise<QueueTransport> {
    this.queue ??= this.openQueue();
    return this.queue;
  }

  /** The key of api and ops: whoever reports the end of a job needs it. */
  async requireSecretKey(): Promise<string> {
    const secretKey = this.config.secretKey ?? (await this.runtime())?.secretKey;
    if (secretKey !== undefined) return secretKey;
    throw new PlatformError('SERVICE_UNAVAILABLE', 'Set SLUICE_SECRET_KEY to the key of api and ops.');
  }

  /** Base URL of the API that `npm start` runs for this home; null when it does not run. */
  async baseUrl(): Promise<string | null> {
    return (await this.runtime())?.baseUrl ?? null;
  }

  /** The store of the queue, as configured or of the `npm start` that runs here. */
  async queueUrl(): Promise<string | undefined> {
    const { queueUrl, redisUrl } = this.config;
    return queueUrl ?? redisUrl ?? (await this.runtime())?.queueUrl ?? (await this.databaseUrl());
  }

  /** The keys of that queue. Empty: its jobs and messages are stored as they are. */
  async sealKeys(): Promise<readonly string[]> {
    if (this.config.sealKeys.length > 0) return this.config.sealKeys;
    const queueKey = (await this.runtime())?.queueKey;
    return queueKey === undefined ? [] : [queueKey];
  }

  async close(): Promise<void> {
    await (await this.queue?.catch(() => null))?.close();
    await this.prisma?.$disconnect();
  }

  private async openQueue(): Promise<QueueTransport> {
    const url = await this.queueUrl();
    if (url === undefined) {
      const message = `This needs the queue: run \`${startCommand}\` for this SLUICE_HOME, or set SLUICE_QUEUE_URL or REDIS_URL.`;
      throw new PlatformError('SERVICE_UNAVAILABLE', message);
    }
    const sealKeys = await this.sealKeys();
    const { createTransport } = await import('#queue');
    return await createTransport({
      url,
      namespace: this.config.namespace,
      sealKeys,
      clientName: 'cli',
      warn: (message) => this.warn(message),
    });
  }

  private async database(): Promise<PrismaService | null> {
    const url = await this.databaseUrl();
    if (url === undefined) return null;
    const { PrismaService } = await import('#platform/prisma');
    this.prisma ??= new PrismaService({ url, applicationName: 'sluice-cli', poolSize: 2 });
    return this.prisma;
  }

  /** Also returns null for a state file that a killed `npm start` left behind. */
  private async runtime(): Promise<RuntimeFile | null> {
    const content = await readIfPresent(runtimeFile(this.config.home));
    if (content === null) return null;
    const runtime = JSON.parse(content.toString('utf8')) as RuntimeFile;
    if ((await processState(runtime)) === 'gone') return null;
    if (runtime.hasOwnDatabase && this.config.databaseUrl === undefined) forgetPostgresVariables();
    return runtime;
  }
}

function refuseWithoutDatabase(): never {
  const message = `This needs the database: run \`${startCommand}\` for this SLUICE_HOME, or set DATABASE_URL.`;
  throw new PlatformError('SERVICE_UNAVAILABLE', message);
}
