import { ApiProperty } from '@nestjs/swagger';
import type { AccountTransaction, TransactionPage } from '#billing';
import { displayNanos } from '#common';

/* Responses of the routes of wallets. */

export class WalletBalance {
  @ApiProperty({ type: 'string', description: 'EVM: lower case.' }) walletAddress!: string;
  @ApiProperty({ type: 'number', description: 'USD that can be spent now.', example: 4.23 }) balanceUsd!: number;

  @ApiProperty({ type: 'boolean', description: 'Whether it covers a charged request: 0.10 USD or DIEM.' })
  canConsume!: boolean;

  @ApiProperty({ type: 'number', example: 5 }) minimumTopUpUsd!: number;
  @ApiProperty({ type: 'number', example: 10 }) suggestedTopUpUsd!: number;

  @ApiProperty({
    type: 'number',
    required: false,
    description: 'DIEM left today, which are spent first; with a stake.',
  })
  diemBalanceUsd?: number;
}

export class WalletBalanceResponse {
  @ApiProperty({ type: 'boolean', enum: [true] }) success!: true;
  @ApiProperty({ type: () => WalletBalance }) data!: WalletBalance;
}

export class WalletTransaction {
  @ApiProperty({ type: 'string' }) id!: string;
  @ApiProperty({ type: 'number', description: 'USD; negative for a charge. DIEM are not in it.' }) amount!: number;
  @ApiProperty({ type: 'number', description: 'USD after it.' }) balanceAfter!: number;
  @ApiProperty({ type: 'string', description: '`TOP_UP`, `CHARGE` or `REFUND`.', example: 'CHARGE' }) type!: string;
  @ApiProperty({ type: 'string', example: '2026-01-31T12:00:00.000Z' }) createdAt!: string;
  @ApiProperty({ type: 'string', nullable: true }) requestId!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) modelId!: string | null;
}

export class WalletPagination {
  @ApiProperty({ type: 'number', example: 50 }) limit!: number;
  @ApiProperty({ type: 'number', example: 0 }) offset!: number;
  @ApiProperty({ type: 'boolean' }) hasMore!: boolean;
}

export class WalletTransactions {
  @ApiProperty({ type: 'string' }) walletAddress!: string;
  @ApiProperty({ type: 'number', description: 'USD before what running requests have reserved.' })
  currentBalance!: number;
  @ApiProperty({ type: () => WalletTransaction, isArray: true }) transactions!: WalletTransaction[];
  @ApiProperty({ type: () => WalletPagination }) pagination!: WalletPagination;
}

export class WalletTransactionsResponse {
  @ApiProperty({ type: 'boolean', enum: [true] }) success!: true;
  @ApiProperty({ type: () => WalletTransactions }) data!: WalletTransactions;
}

export function presentTransactions(
  walletAddress: string,
  { limit, offset }: { limit: number; offset: number },
  { balanceNano, transactions, hasMore }: TransactionPage,
): WalletTransactionsResponse {
  const currentBalance = displayNanos(balanceNano);
  const pagination = { limit, offset, hasMore };
  const data = { walletAddress, currentBalance, transactions: transactions.map(presentTransaction), pagination };
  return { success: true, data };
}

/** Amounts are exact to the nano, so that a page adds up. */
function presentTransaction(transaction: AccountTransaction): WalletTransaction {
  const { id, type, amountNano, balanceNano, createdAt, requestId, modelId } = transaction;
  const [amount, balanceAfter] = [displayNanos(amountNano, 9), displayNanos(balanceNano, 9)] as const;
  return { id, amount, balanceAfter, type, createdAt: createdAt.toISOString(), requestId, modelId };
}
