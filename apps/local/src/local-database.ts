import { errorText } from '#common/values';
import { StartRefusal } from '#platform/process';
import { forgetPostgresVariables, type LocalConfig } from '#platform/config';
import {
  type EmbeddedPostgres,
  type RemoteAccess,
  saysDiskFull,
  startEmbeddedPostgres,
} from '#platform/embedded-postgres';
import { postgresFolder } from '#platform/home';
import { migrate } from '#platform/migrations';
import type { MergedLog } from './merged-log.js';
import { RestartDelay } from './restart-delay.js';

export interface LocalDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Keeps variables of libpq such as `PGSSLMODE` and `PGOPTIONS`, which are about other databases, from this installation's
 * own. Throws a `StartRefusal` where they may be about its queue.
 */
export function isolateOwnDatabase({ databaseUrl, queueUrl }: LocalConfig): void {
  if (databaseUrl !== undefined) return;
  const names = forgetPostgresVariables();
  if (names.length === 0 || queueUrl === undefined || !/^postgres(ql)?:/.test(queueUrl)) return;
  throw new StartRefusal(
    `${names.join(', ')} would also reach Sluice's own database. Unset ${names.length === 1 ? 'it' : 'them'}, and write ` +
      'what the server of the queue needs into SLUICE_QUEUE_URL, such as ?sslmode=require.',
  );
}

/** The migrated database of this installation: the configured one, or the embedded one of the home. */
export async function openDatabase(config: LocalConfig, log: MergedLog): Promise<LocalDatabase> {
  const database = config.databaseUrl
    ? { url: config.databaseUrl, stop: () => Promise.resolve() }
    : await SupervisedPostgres.start(config, log);
  let created = 0;
  try {
    await migrate({
      url: database.url,
      // A new database gets one line, since its migrations change nothing that exists.
      onApplied: (name, isNew) => {
        if (isNew) created += 1;
        else log.note(`database migrated: ${name}`);
      },
      onLocked: (name) => log.note(`migration ${name} waits for a lock held by another session`),
    });
    if (created > 0) log.note(`database created: ${created} migrations`);
    return database;
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** Only roles of pools connect from other machines: `sluice pools credentials` makes them. */
async function remoteAccessOf({ postgresListen, namespace }: LocalConfig): Promise<RemoteAccess | undefined> {
  if (postgresListen === undefined) return undefined;
  const { poolRolePrefix } = await import('#queue/pools');
  const [host = '', port] = postgresListen.split(':');
  return { host, port: Number(port), rolePrefix: poolRolePrefix(namespace) };
}

const pauseBetweenNotesMs = 60_000;

/** The embedded server, restarted on the same port when it exits. */
class SupervisedPostgres implements LocalDatabase {
  private readonly delay = new RestartDelay();
  private stopping = false;
  private restart: NodeJS.Timeout | undefined;
  private server: EmbeddedPostgres | undefined;
  /** The time from which the log may name the full disk again. Every statement that writes fails on one. */
  private nextNoteMs = 0;

  private constructor(
    private readonly dataFolder: string,
    private readonly remote: RemoteAccess | undefined,
    private readonly log: MergedLog,
  ) {}

  static async start(config: LocalConfig, log: MergedLog): Promise<SupervisedPostgres> {
    const database = new SupervisedPostgres(postgresFolder(config.home), await remoteAccessOf(config), log);
    await database.launch();
    return database;
  }

  get url(): string {
    if (!this.server) throw new Error('The database is not started.');
    return this.server.url;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.restart);
    await this.server?.stop();
  }

  private async launch(): Promise<void> {
    this.delay.started();
    this.server = await startEmbeddedPostgres({
      dataFolder: this.dataFolder,
      port: this.server?.port,
      remote: this.remote,
      onLog: (line) => this.onLog(line),
      onExit: () => this.relaunch(),
    });
  }

  private onLog(line: string): void {
    if (this.stopping) return;
    if (/\b(FATAL|PANIC)\b/.test(line)) this.log.child('db', line);
    if (!saysDiskFull(line) || performance.now() < this.nextNoteMs) return;
    this.nextNoteMs = performance.now() + pauseBetweenNotesMs;
    this.log.note(`the disk of ${this.dataFolder} is full: free some space, and everything goes on by itself`);
  }

  private relaunch(): void {
    if (this.stopping) return;
    const pauseMs = this.delay.next();
    this.log.note(`the database ended; it starts again in ${(pauseMs / 1_000).toFixed(1)} s`);
    this.restart = setTimeout(() => {
      this.launch().catch((error: unknown) => {
        this.log.note(`the database could not be started: ${errorText(error)}`);
        this.relaunch();
      });
    }, pauseMs);
  }
}
