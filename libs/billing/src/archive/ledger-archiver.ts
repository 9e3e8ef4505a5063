import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { PlatformError } from '#common';
import type { LedgerArchive, LedgerArchiveRepository } from './ledger-archive.repository.js';

/** Transactions per page of the export, and per statement that deletes. */
const pageRows = 2_000;
const deletedRows = 1_000;

export interface ArchiveResult {
  /** Path of the file; null: there was nothing to archive. */
  path: string | null;
  sha256: string | null;
  transactions: bigint;
  entries: bigint;
}

/** A file of an archive that is missing or was changed. */
export interface ArchiveFault {
  file: string;
  fault: string;
}

interface Written {
  sha256: string;
  transactions: bigint;
  entries: bigint;
  lastId: bigint;
}

/**
 * Moves transactions of closed months to a file of JSON lines. Nothing is deleted before the whole file and its hash are on
 * disk, and what is deleted is read back from the file. An interrupted run goes on where it was.
 */
export class LedgerArchiver {
  constructor(
    private readonly repository: LedgerArchiveRepository,
    private readonly onProgress: (line: string) => void = () => undefined,
  ) {}

  /** Archives what was posted before the begin of a month such as `2026-10`, in UTC. */
  async archive({ month, folder }: { month: string; folder: string }): Promise<ArchiveResult> {
    const before = beginOf(month);
    const open = await this.repository.findOpen();
    if (open !== null) return await this.resume(open, { before, folder });
    if (before > (await this.repository.currentMonth())) {
      throw new PlatformError('INVALID_REQUEST', 'Only months that have ended can be archived.', '--before');
    }
    await this.assertFolded(before);
    await mkdir(folder, { recursive: true });
    const number = String((await this.repository.list()).length + 1).padStart(4, '0');
    const file = `ledger-${number}-before-${month}.jsonl`;
    const path = join(folder, file);
    if (await exists(path)) {
      const message = `${path} exists and is no archive of this ledger: remove it, or name another folder.`;
      throw new PlatformError('INVALID_REQUEST', message, '--to');
    }
    const written = await this.write(path, before);
    if (written === null) return { path: null, sha256: null, transactions: 0n, entries: 0n };
    return await this.replace(await this.repository.create({ ...written, before, file }), path);
  }

  /** Returns what is wrong with the files of all archives that were made so far. */
  async check(folder: string): Promise<ArchiveFault[]> {
    const faults: ArchiveFault[] = [];
    for (const { file, sha256 } of await this.repository.list()) {
      const path = join(folder, basename(file));
      if (!(await exists(path))) faults.push({ file, fault: 'is missing' });
      else if ((await hashOf(path)) !== sha256) faults.push({ file, fault: 'was changed' });
    }
    return faults;
  }

  private async resume(
    archive: LedgerArchive,
    { before, folder }: { before: Date; folder: string },
  ): Promise<ArchiveResult> {
    const path = join(folder, basename(archive.file));
    const isSame = archive.before.getTime() === before.getTime();
    if (!isSame || !(await exists(path)) || (await hashOf(path)) !== archive.sha256) {
      throw new PlatformError(
        'INVALID_REQUEST',
        `An archive is unfinished: run this with --before ${archive.before.toISOString().slice(0, 7)} and the folder that ` +
          `holds its unchanged file ${archive.file}.`,
        '--to',
      );
    }
    await this.assertFolded(before);
    return await this.replace(archive, path);
  }

  /** Reports read what is archived from sums, which ops has made only a while after an upgrade or a month's end. */
  private async assertFolded(before: Date): Promise<void> {
    const through = await this.repository.foldedThrough();
    if (through !== null && through >= before) return;
    const done = through === null ? 'no usage yet' : `usage up to ${through.toISOString()}`;
    throw new PlatformError(
      'INVALID_REQUEST',
      `Ops has summed up ${done}, which reports read once the ledger is archived. Nothing was changed: let ops run, and ` +
        'try again in some minutes.',
      '--before',
    );
  }

  /** Resolves to null, without a file, where there is nothing to write. */
  private async write(path: string, before: Date): Promise<Written | null> {
    const partial = `${path}.partial`;
    const file = await open(partial, 'w', 0o600);
    const hash = createHash('sha256');
    const written = { transactions: 0n, entries: 0n, lastId: 0n };
    try {
      for (;;) {
        const page = await this.repository.read({ before, afterId: written.lastId, max: pageRows });
        if (page.length === 0) break;
        const text = page.map(({ line }) => `${line}\n`).join('');
        hash.update(text);
        await file.writeFile(text);
        written.transactions += BigInt(page.length);
        written.entries += page.reduce((sum, { entries }) => sum + BigInt(entries), 0n);
        written.lastId = page.at(-1)?.id ?? written.lastId;
        this.onProgress(`${written.transactions} transactions written`);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (written.transactions === 0n) {
      await rm(partial);
      return null;
    }
    await rename(partial, path);
    // The name, too, must outlive a crash of the machine before anything is deleted.
    const directory = await open(join(path, '..'), 'r');
    await directory.sync();
    await directory.close();
    return { ...written, sha256: hash.digest('hex') };
  }

  private async replace(archive: LedgerArchive, path: string): Promise<ArchiveResult> {
    let { deleted } = archive;
    const { id, sha256, transactions, entries } = archive;
    for await (const ids of idsOf(path)) {
      deleted += BigInt(await this.repository.replace(id, ids));
      this.onProgress(`${deleted} of ${transactions} transactions replaced`);
    }
    await this.repository.finish(id);
    return { path, sha256, transactions, entries };
  }
}

/** Ids of the transactions of a file, some at a time. */
async function* idsOf(path: string): AsyncGenerator<bigint[]> {
  let ids: bigint[] = [];
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    ids.push(BigInt((JSON.parse(line) as { id: string }).id));
    if (ids.length < deletedRows) continue;
    yield ids;
    ids = [];
  }
  if (ids.length > 0) yield ids;
}

function beginOf(month: string): Date {
  const begin = /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? new Date(`${month}-01T00:00:00Z`) : null;
  if (begin !== null) return begin;
  throw new PlatformError('INVALID_REQUEST', 'The month must be written like 2026-10.', '--before');
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return hash.digest('hex');
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
