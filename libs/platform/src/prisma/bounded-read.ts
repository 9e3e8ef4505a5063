import { PlatformError } from '#common';
import type { Prisma } from './generated/client.js';
import type { PrismaService } from './prisma.service.js';

export interface ReadBound {
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

/** Runs reads whose statements the database cancels in time. Rejects with `REQUEST_TIMEOUT` then. */
export async function boundedRead<Result>(
  prisma: PrismaService,
  { timeoutMs, workMemMb, message = tooLong }: ReadBound,
  read: (transaction: Prisma.TransactionClient) => Promise<Result>,
): Promise<Result> {
  try {
    return await prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRaw`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`;
        if (workMemMb !== undefined) {
          await transaction.$executeRaw`SELECT set_config('work_mem', ${`${workMemMb}MB`}, true)`;
        }
        return read(transaction);
      },
      { timeout: timeoutMs + graceMs },
    );
  } catch (cause) {
    if (!String(cause).includes(queryCanceled)) throw cause;
    throw new PlatformError('REQUEST_TIMEOUT', message, null, { cause });
  }
}
