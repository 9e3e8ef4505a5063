import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** A request for a link, as it is checked. */
export interface LinkUse {
  artifactId: string;
  expiresAtMs: number;
}

interface LinkRow {
  revoked: boolean;
  requests: number;
}

/** State of download links. Every time is that of the database. */
@Injectable()
export class DownloadLinksRepository {
  // SQL: each use is counted and checked in one statement, so that no two requests share the last download.
  constructor(private readonly prisma: PrismaService) {}

  /** Counts a request, whatever its result. Returns the number of requests within the window, this one included. */
  async countRequest({ artifactId, expiresAtMs }: LinkUse, windowMs: number): Promise<LinkRow> {
    const rows = await this.prisma.$queryRaw<LinkRow[]>`
      INSERT INTO download_links AS link (artifact_id, window_requests, expires_at)
      VALUES (${artifactId}, 1, to_timestamp(${expiresAtMs}::float8 / 1000))
      ON CONFLICT (artifact_id) DO UPDATE SET
        window_start = CASE WHEN link.window_start < now() - ${windowMs}::float8 * interval '1 ms'
          THEN now() ELSE link.window_start END,
        window_requests = CASE WHEN link.window_start < now() - ${windowMs}::float8 * interval '1 ms'
          THEN 1 ELSE link.window_requests + 1 END
      RETURNING revoked_at IS NOT NULL AS revoked, window_requests AS requests`;
    const row = rows[0];
    if (row === undefined) throw new Error('The database did not return the link.');
    return row;
  }

  /** Uses up one of the downloads; false when none is left, the link is revoked, or another network owns it. */
  async takeDownload(artifactId: string, { network, max }: { network: string; max: number }): Promise<boolean> {
    const count = await this.prisma.$executeRaw`
      UPDATE download_links SET downloads = downloads + 1, network = ${network}
       WHERE artifact_id = ${artifactId} AND revoked_at IS NULL AND downloads < ${max}::int
         AND (network IS NULL OR network = ${network})`;
    return count === 1;
  }

  async revoke(artifactId: string): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE download_links SET revoked_at = COALESCE(revoked_at, now()) WHERE artifact_id = ${artifactId}`;
  }

  /** Deletes rows that the expiry in the link itself makes redundant. Returns their number. */
  async forgetExpired(limit: number): Promise<number> {
    return await this.prisma.$executeRaw`
      DELETE FROM download_links WHERE artifact_id IN (
        SELECT artifact_id FROM download_links WHERE expires_at < now() - interval '1 hour' LIMIT ${limit}::int)`;
  }
}
