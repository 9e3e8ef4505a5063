import { PlatformError } from '#common';
import { AccountSlots } from '../turns/index.js';
import type { Prisma } from './generated/client.js';
import type { PrismaService } from './prisma.service.js';

export interface ReadBound {
  /** The account that asks; null: an operator, for the installation. */
  owner: string | null;
  /** After which the database cancels a statement. Keep it well below the driver's timeout. */
  timeoutMs: number;
  /** Memory for each sort and join, where a million rows would else be written to disk. Default: that of the server. */
  workMemMb?: number;
  /** What a client can do about a read that takes too long. */
  message?: string;
}

/** Cancelled by `statement_timeout`. */
const queryCanceled = '57014';

const tooLong = 'There is too much to read in time; narrow the range or the filter.';

/** How much longer than a statement the transaction around it may take, in ms. */
const graceMs = 5_000;

/** Few at once: each holds a connection that other requests need. Waiting is for the pages of several browsers. */
const slots = {
  slots: 4,
  slotsPerOwner: 2,
  maxWaiting: 256,
  maxWaitingPerOwner: 32,
  maxWaitMs: 5_000,
  work: 'reports are read',
};
const slotsOf = new WeakMap<PrismaService, AccountSlots>();

/**
 * Runs reads whose statements the database cancels in time, a few at once and in turns of their owners. Rejects with
 * `REQUEST_TIMEOUT` when they take too long, and as `AccountSlots` when too many wait.
 */
export async function boundedRead<Result>(
  prisma: PrismaService,
  bound: ReadBound,
  read: (transaction: Prisma.TransactionClient) => Promise<Result>,
): Promise<Result> {
  const turns = slotsOf.get(prisma) ?? new AccountSlots(slots);
  slotsOf.set(prisma, turns);
  return await turns.run(bound.owner ?? 'the installation', () => readWithin(prisma, bound, read));
}

async function readWithin<Result>(
  prisma: PrismaService,
  { timeoutMs, workMemMb, message = tooLong }: ReadBound,
  read: (transaction: Prisma.TransactionClient) => Promise<Result>,
): Promise<Result> {
  try {
    return await prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`
          SELECT set_config('statement_timeout', ${String(timeoutMs)}, true),
                 set_config('work_mem', COALESCE(${workMemMb === undefined ? null : `${workMemMb}MB`}, current_setting('work_mem')), true)`;
        return read(transaction);
      },
      { timeout: timeoutMs + graceMs },
    );
  } catch (cause) {
    if (!String(cause).includes(queryCanceled)) throw cause;
    throw new PlatformError('REQUEST_TIMEOUT', message, null, { cause });
  }
}
