import { type Prisma, PrismaService } from '#platform/prisma';
import { transactionLimits } from '../keys/api-keys.repository.js';
import type { Web3Token } from './web3-token.js';
import { Injectable } from '#platform/injection';

type Transaction = Prisma.TransactionClient;

/** How long a spent token is kept past its expiry, in ms: replicas' clocks differ by less. */
const keptMs = 3_600_000;

/** Maps wallet addresses to accounts, and records used tokens. */
@Injectable()
export class WalletsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async transaction<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.prisma.$transaction(run, transactionLimits);
  }

  /** Returns false when the token has already created a key. */
  async spend(transaction: Transaction, { id, expiresAt }: Web3Token): Promise<boolean> {
    await transaction.spentWeb3Token.deleteMany({ where: { expiresAt: { lt: new Date(Date.now() - keptMs) } } });
    const { count } = await transaction.spentWeb3Token.createMany({ data: { id, expiresAt }, skipDuplicates: true });
    return count > 0;
  }

  /** Returns the account of an address (lower case), creating it on first use. */
  async accountOf(transaction: Transaction, address: string): Promise<string> {
    // SQL: Prisma has no advisory locks. Two first keys at once wait for each other, so that a wallet has one account.
    await transaction.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(${`wallet ${address}`}, 0))`;
    const wallet = await transaction.wallet.findUnique({ where: { address } });
    if (wallet) return wallet.accountId;
    const { id } = await transaction.account.create({ data: { name: `wallet ${address}` }, select: { id: true } });
    await transaction.wallet.create({ data: { address, accountId: id } });
    return id;
  }
}
