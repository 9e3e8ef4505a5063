import { Injectable } from '#platform/injection';
import { type Prisma, PrismaService } from '#platform/prisma';

/** A transaction of a fee payer that submits a payment. Its bytes are public once sent. */
export interface SentTransaction {
  readonly network: string;
  /** What it submits: one authorization has one transaction. */
  readonly paymentKey: string;
  /** Lower case. */
  readonly feePayer: string;
  readonly nonce: bigint;
  readonly hash: string;
  /** The signed transaction in hexadecimal, to send it again. */
  readonly raw: string;
  readonly signedAt: Date;
}

/** Whose nonces are handed out one at a time. */
export interface FeePayerAccount {
  readonly network: string;
  readonly feePayer: string;
}

/** Waiting for the lock, and holding it while a node answers, in ms. */
const lockLimits = { maxWait: 10_000, timeout: 15_000 } as const;
const keptMs = 30 * 86_400_000;

/**
 * Transactions that fee payers have signed. A row exists before its transaction is sent, so that a retry, in whichever
 * process, sends the same one again instead of another one for the same authorization.
 */
@Injectable()
export class SentTransactionsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async find(network: string, paymentKey: string): Promise<SentTransaction | null> {
    return this.prisma.sentTransaction.findUnique({ where: { network_paymentKey: { network, paymentKey } } });
  }

  /** Runs `work` while no other process works on the fee payer. What it wrote is there for all when this resolves. */
  async locked<Result>(
    { network, feePayer }: FeePayerAccount,
    work: (rows: LockedTransactions) => Promise<Result>,
  ): Promise<Result> {
    return this.prisma.$transaction(async (transaction) => {
      const lock = `fee payer ${network} ${feePayer}`;
      // SQL: Prisma has no advisory locks.
      await transaction.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
      return work(new LockedTransactions(transaction, { network, feePayer }));
    }, lockLimits);
  }
}

/** The transactions of one fee payer, under its lock. */
export class LockedTransactions {
  constructor(
    private readonly transaction: Prisma.TransactionClient,
    private readonly account: FeePayerAccount,
  ) {}

  async find(paymentKey: string): Promise<SentTransaction | null> {
    const { network } = this.account;
    return this.transaction.sentTransaction.findUnique({ where: { network_paymentKey: { network, paymentKey } } });
  }

  /** Those whose nonce is at least `nonce`, in order. */
  async from(nonce: bigint, limit: number): Promise<SentTransaction[]> {
    const where = { ...this.account, nonce: { gte: nonce } };
    return this.transaction.sentTransaction.findMany({ where, orderBy: { nonce: 'asc' }, take: limit });
  }

  /** Returns the smallest nonce from `nonce` on that no row has. */
  async freeNonce(nonce: bigint): Promise<bigint> {
    const where = { ...this.account, nonce: { gte: nonce } };
    const taken = await this.transaction.sentTransaction.findMany({ where, select: { nonce: true } });
    const nonces = new Set(taken.map((row) => row.nonce));
    let free = nonce;
    while (nonces.has(free)) free += 1n;
    return free;
  }

  async insert(row: Pick<SentTransaction, 'paymentKey' | 'nonce' | 'hash' | 'raw'>): Promise<SentTransaction> {
    return this.transaction.sentTransaction.create({ data: { ...this.account, ...row } });
  }

  /** The same call with the same nonce for a higher fee: one of both can be mined. */
  async replace({ paymentKey }: SentTransaction, { hash, raw }: Pick<SentTransaction, 'hash' | 'raw'>): Promise<void> {
    const { network } = this.account;
    const where = { network_paymentKey: { network, paymentKey } };
    await this.transaction.sentTransaction.update({ where, data: { hash, raw, signedAt: new Date() } });
  }

  /** Deletes those that were mined long ago: no authorization is valid that long. */
  async prune(minedNonces: bigint): Promise<void> {
    const signedAt = { lt: new Date(Date.now() - keptMs) };
    await this.transaction.sentTransaction.deleteMany({
      where: { ...this.account, nonce: { lt: minedNonces }, signedAt },
    });
  }
}
