import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AccountsService } from '#accounts';
import type { CharacterDocuments, CharactersService } from '#characters';
import { isProcessAlive, PlatformError } from '#common';
import type { ModelRegistryService } from '#model-registry';
import { createProgressReporter, type ProgressReporter, type SourceSettings } from '#model-store';
import type { CliConfig } from '#platform/config';
import type { PrismaService } from '#platform/prisma';
import { Output } from './output.js';

export interface CliStreams {
  stdout?: NodeJS.WritableStream;
  stderr?: NodeJS.WriteStream;
  signal?: AbortSignal;
}

/** State file of the running installation of this home, as written by `npm start`. */
interface RuntimeFile {
  databaseUrl: string;
  baseUrl: string;
  pid: number;
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

  constructor(
    readonly config: CliConfig,
    { stdout = process.stdout, stderr = process.stderr, signal = new AbortController().signal }: CliStreams = {},
  ) {
    this.output = new Output(stdout);
    this.stderr = stderr;
    this.signal = signal;
  }

  get sources(): SourceSettings {
    const { hubEndpoint, hubToken, pinnedModelsOnly: pinnedOnly } = this.config;
    return { hubEndpoint, hubToken, pinnedOnly };
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
    const { ModelRegistryService, noOnlineModels } = await import('#model-registry');
    return new ModelRegistryService(prisma, noOnlineModels, { cacheMs: 0 });
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

  async requireAccounts(): Promise<AccountsService> {
    const prisma = await this.requireDatabase();
    const { AccountsService } = await import('#accounts');
    return new AccountsService(prisma);
  }

  async requireCharacters(): Promise<CharactersService> {
    const prisma = await this.requireDatabase();
    const { CharactersService } = await import('#characters');
    return new CharactersService(prisma);
  }

  async requireDocuments(): Promise<CharacterDocuments> {
    const prisma = await this.requireDatabase();
    const { CharacterDocuments } = await import('#characters');
    return new CharacterDocuments(prisma);
  }

  /** Base URL of the API that `npm start` runs for this home; null when it does not run. */
  async baseUrl(): Promise<string | null> {
    return (await this.runtime())?.baseUrl ?? null;
  }

  async close(): Promise<void> {
    await this.prisma?.$disconnect();
  }

  private async database(): Promise<PrismaService | null> {
    const url = await this.databaseUrl();
    if (url === undefined) return null;
    const { PrismaService } = await import('#platform/prisma');
    this.prisma ??= new PrismaService({ url, applicationName: 'sluice-cli', poolSize: 2 });
    return this.prisma;
  }

  private async databaseUrl(): Promise<string | undefined> {
    return this.config.databaseUrl ?? (await this.runtime())?.databaseUrl;
  }

  /** Also returns null for a state file that a killed `npm start` left behind. */
  private async runtime(): Promise<RuntimeFile | null> {
    try {
      const runtime = JSON.parse(await readFile(join(this.config.home, 'runtime.json'), 'utf8')) as RuntimeFile;
      return isProcessAlive(runtime.pid) ? runtime : null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }
}

function refuseWithoutDatabase(): never {
  const message = 'This needs the database: run `npm start` for this SLUICE_HOME, or set DATABASE_URL.';
  throw new PlatformError('SERVICE_UNAVAILABLE', message);
}
