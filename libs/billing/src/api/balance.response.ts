import { ApiProperty } from '@nestjs/swagger';
import { displayNanos } from '#common';
import type { AccountBalance } from '../ledger.repository.js';

/* Response of `GET /billing/balance`. */

export class BalancesResponse {
  @ApiProperty({ type: 'number', nullable: true, description: 'Null for accounts without a stake.', example: null })
  diem!: number | null;

  @ApiProperty({ type: 'number', nullable: true, description: 'Includes bundled credits.', example: 12.5 })
  usd!: number | null;
}

export class BalanceResponse {
  @ApiProperty({ type: 'boolean', description: 'Whether any balance is left to spend.' }) canConsume!: boolean;

  @ApiProperty({
    type: 'string',
    nullable: true,
    enum: ['USD', 'VCU', 'DIEM', 'BUNDLED_CREDITS'],
    description: 'Currency that the next request spends first.',
  })
  consumptionCurrency!: string | null;

  @ApiProperty({ type: () => BalancesResponse }) balances!: BalancesResponse;
  @ApiProperty({ type: 'number', description: 'DIEM allowance of each UTC day.', example: 0 })
  diemEpochAllocation!: number;
}

export function presentBalance(balance: AccountBalance): BalanceResponse {
  const { diemNano, bundledNano, usdNano, diemAllowanceNano } = balance;
  const spendable = [
    ['DIEM', diemNano],
    ['BUNDLED_CREDITS', bundledNano],
    ['USD', usdNano],
  ] as const;
  const next = spendable.find(([, nanos]) => nanos > 0n)?.[0] ?? null;
  const knowsDiem = diemNano > 0n || diemAllowanceNano > 0n;
  return {
    canConsume: next !== null,
    consumptionCurrency: next,
    balances: { diem: knowsDiem ? displayNanos(diemNano) : null, usd: displayNanos(bundledNano + usdNano) },
    diemEpochAllocation: displayNanos(diemAllowanceNano),
  };
}
