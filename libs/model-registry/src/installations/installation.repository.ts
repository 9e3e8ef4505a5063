import { type ErrorCode, isErrorCode } from '#common';
import { Injectable } from '#platform/injection';
import { type Prisma, PrismaService } from '#platform/prisma';
import {
  type Installation,
  type InstallationLease,
  type InstallationOptions,
  type InstallationProgress,
  type InstallationRequest,
  type InstallationState,
  type Installer,
  leaseMs,
  maxAttempts,
} from './installation.js';

/** The row behind which a page of installations goes on, newest first. */
export interface InstallationPosition {
  createdMs: number;
  id: string;
}

/** Largest age of a report by which a process still counts, in ms. They report every 10 s. */
const installerSilentMs = 30_000;

const withKey = { apiKey: { select: { id: true, description: true, last6: true } } } as const;
type Row = Prisma.ModelInstallationGetPayload<{ include: typeof withKey }>;

/**
 * The table of installations. Every change of an owner names its lease token, and the database's clock decides when a
 * lease has expired, so of several owners one works on a row, and one that lost it changes nothing.
 */
@Injectable()
export class InstallationRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns null while the same reference is being installed. */
  async insert({ reference, options }: InstallationRequest, requestedBy: string | null): Promise<Installation | null> {
    // SQL: the open installation of a reference is known to the partial index only.
    const rows = await this.prisma.$queryRaw<{ id: string }[]>`
      INSERT INTO model_installations (reference, options, requested_by)
      VALUES (${reference}, ${JSON.stringify(options)}::jsonb, ${requestedBy}::uuid)
      ON CONFLICT DO NOTHING RETURNING id::text AS id`;
    return rows[0] === undefined ? null : await this.find(rows[0].id);
  }

  async find(id: string): Promise<Installation | null> {
    const row = await this.prisma.modelInstallation.findUnique({ where: { id }, include: withKey });
    return row === null ? null : toInstallation(row);
  }

  /** Up to `limit` installations, newest first. */
  async page(
    { state }: { state: InstallationState | null },
    after: InstallationPosition | null,
    limit: number,
  ): Promise<Installation[]> {
    const behind = after === null ? [] : [behindOf(after)];
    const rows = await this.prisma.modelInstallation.findMany({
      where: { AND: [...(state === null ? [] : [{ state }]), ...behind] },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit,
      include: withKey,
    });
    return rows.map(toInstallation);
  }

  /**
   * Cancels an open installation; returns false if it is closed, or if its owner is registering the model at this
   * moment. The owner notices with its next report.
   */
  async cancel(id: string): Promise<boolean> {
    // SQL: the database's clock decides whether the owner still works on it.
    const count = await this.prisma.$executeRaw`
      UPDATE model_installations
         SET state = 'cancelled', owner = NULL, lease_token = NULL, leased_until = NULL, updated_at = now(),
             finished_at = now()
       WHERE id = ${id}::uuid AND state IN ('waiting', 'pulling', 'converting', 'registering')
         AND NOT (coalesce(progress->>'stage', '') = 'register' AND coalesce(leased_until > now(), false))`;
    return count > 0;
  }

  /** Lets a failed or cancelled installation begin again; returns false for others, and while its reference is open. */
  async retry(id: string): Promise<boolean> {
    try {
      // SQL: the database's clock dates the change.
      const count = await this.prisma.$executeRaw`
        UPDATE model_installations SET state = 'waiting', attempt = 0, progress = NULL, error_code = NULL, error = NULL,
               updated_at = now(), finished_at = NULL
         WHERE id = ${id}::uuid AND state IN ('failed', 'cancelled')`;
      return count > 0;
    } catch (error) {
      // The partial index decides between this row and a newer one of the same reference.
      if (isUniqueViolation(error)) return false;
      throw error;
    }
  }

  /** Leases the oldest installation that waits, or whose owner has fallen silent. */
  async claim(owner: string): Promise<InstallationLease | null> {
    // SQL: one statement decides between owners; locked rows are another's.
    const rows = await this.prisma.$queryRaw<
      { id: string; token: string; attempt: number; reference: string; options: InstallationOptions }[]
    >`
      UPDATE model_installations
         SET state = 'pulling', attempt = attempt + 1, owner = ${owner}, lease_token = gen_random_uuid(),
             leased_until = now() + ${leaseMs}::float8 * interval '1 ms', progress = NULL, updated_at = now()
       WHERE id = (
         SELECT id FROM model_installations
          WHERE (state = 'waiting' OR (state IN ('pulling', 'converting', 'registering') AND leased_until < now()))
            AND attempt < ${maxAttempts}::int
          ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id::text AS id, lease_token::text AS token, attempt, reference, options`;
    return rows[0] ?? null;
  }

  /** Closes installations whose owners ended one after the other; returns their number. */
  async failAbandoned(): Promise<number> {
    const message = `The process that installed it ended ${maxAttempts} times before it was done.`;
    // SQL: the database's clock decides what has expired.
    return this.prisma.$executeRaw`
      UPDATE model_installations
         SET state = 'failed', error_code = 'MODEL_PULL_FAILED', error = ${message}, owner = NULL, lease_token = NULL,
             leased_until = NULL, updated_at = now(), finished_at = now()
       WHERE state IN ('waiting', 'pulling', 'converting', 'registering') AND attempt >= ${maxAttempts}::int
         AND coalesce(leased_until, '-infinity') < now()`;
  }

  /**
   * Renews a lease and records what its owner does. Returns false if it has lost the lease: the installation was
   * cancelled, or another owner took it over.
   */
  async report(
    { id, token }: InstallationLease,
    state: InstallationState,
    progress: InstallationProgress | null,
  ): Promise<boolean> {
    const text = progress === null ? null : JSON.stringify(progress);
    // SQL: the database's clock dates the lease. An expired one that no other owner has taken is renewed.
    const count = await this.prisma.$executeRaw`
      UPDATE model_installations
         SET state = ${state}::model_installation_state, progress = ${text}::jsonb, updated_at = now(),
             leased_until = now() + ${leaseMs}::float8 * interval '1 ms'
       WHERE id = ${id}::uuid AND lease_token = ${token}::uuid`;
    return count > 0;
  }

  /** Records which model it is. Returns false if the lease is lost. */
  async describe({ id, token }: InstallationLease, modelId: string, note: string): Promise<boolean> {
    const where = { id, leaseToken: token };
    const { count } = await this.prisma.modelInstallation.updateMany({ where, data: { modelId, note } });
    return count > 0;
  }

  /** Closes the installation. Returns false if the lease is lost. */
  async finish(
    { id, token }: InstallationLease,
    result: { state: 'installed' } | { state: 'failed'; code: ErrorCode; message: string },
  ): Promise<boolean> {
    const [code, message] = result.state === 'failed' ? [result.code, result.message] : [null, null];
    // SQL: the database's clock dates the end.
    const count = await this.prisma.$executeRaw`
      UPDATE model_installations
         SET state = ${result.state}::model_installation_state, error_code = ${code}, error = ${message},
             progress = CASE WHEN ${result.state} = 'failed' THEN progress END,
             owner = NULL, lease_token = NULL, leased_until = NULL, updated_at = now(), finished_at = now()
       WHERE id = ${id}::uuid AND lease_token = ${token}::uuid`;
    return count > 0;
  }

  /** Lets another owner go on at once: this one stops. The attempt does not count. */
  async release({ id, token }: InstallationLease): Promise<void> {
    // SQL: the database's clock dates the change.
    await this.prisma.$executeRaw`
      UPDATE model_installations
         SET state = 'waiting', attempt = attempt - 1, owner = NULL, lease_token = NULL, leased_until = NULL,
             updated_at = now()
       WHERE id = ${id}::uuid AND lease_token = ${token}::uuid`;
  }

  async announce({ id, host, importFolder, freeBytes, installed }: Installer): Promise<void> {
    // SQL: the database's clock dates the report.
    await this.prisma.$executeRaw`
      INSERT INTO model_installers (id, host, import_folder, free_bytes, installed, seen_at)
      VALUES (${id}, ${host}, ${importFolder}, ${freeBytes}::bigint, ${JSON.stringify(installed)}::jsonb, now())
      ON CONFLICT (id) DO UPDATE SET free_bytes = excluded.free_bytes, installed = excluded.installed, seen_at = now()`;
  }

  async withdraw(installerId: string): Promise<void> {
    await this.prisma.modelInstaller.deleteMany({ where: { id: installerId } });
  }

  /** The processes that have reported in the last seconds. */
  async installers(): Promise<Installer[]> {
    // SQL: the database's clock dated the reports.
    const rows = await this.prisma.$queryRaw<Installer[]>`
      SELECT id, host, import_folder AS "importFolder", free_bytes::float8 AS "freeBytes", installed
        FROM model_installers WHERE seen_at > now() - ${installerSilentMs}::float8 * interval '1 ms' ORDER BY host, id`;
    return rows;
  }

  /** Deletes up to `max` installations that ended so many days ago, and processes that have long been silent. */
  async deleteOld(days: number, max: number): Promise<number> {
    await this.prisma.$executeRaw`DELETE FROM model_installers WHERE seen_at < now() - interval '1 hour'`;
    // SQL: the database's clock dated the rows; Prisma cannot limit a deletion.
    return this.prisma.$executeRaw`
      DELETE FROM model_installations WHERE id IN (
        SELECT id FROM model_installations WHERE finished_at < now() - ${days}::int * interval '1 day'
         LIMIT ${max}::int FOR UPDATE SKIP LOCKED)`;
  }
}

function behindOf({ createdMs, id }: InstallationPosition): Prisma.ModelInstallationWhereInput {
  const createdAt = new Date(createdMs);
  return { OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { lt: id } }] };
}

function toInstallation(row: Row): Installation {
  const { id, reference, state, modelId, note, attempt, owner, createdAt, updatedAt, finishedAt } = row;
  return {
    ...{ id, reference, state, modelId, note, attempt, owner, createdAt, updatedAt, finishedAt },
    options: row.options as unknown as InstallationOptions,
    requestedBy: row.apiKey,
    progress: row.progress as unknown as InstallationProgress | null,
    error: row.error === null ? null : { code: codeOf(row.errorCode), message: row.error },
  };
}

/** A later release may have written a code that this one does not know. */
function codeOf(code: string | null): ErrorCode {
  return isErrorCode(code) ? code : 'UNKNOWN_ERROR';
}

/** Prisma reports it under a code of its own, or with that of PostgreSQL. */
function isUniqueViolation(error: unknown): boolean {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return code === 'P2002' || String(error).includes('23505');
}
