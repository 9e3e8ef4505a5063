import { ApiProperty } from '@nestjs/swagger';

/* Response of `GET /billing` of the Admin API. */

const amount = { type: 'string', example: '12.500000000' } as const;

export class AdminBalancesResponse {
  @ApiProperty({ ...amount, description: 'What can be spent, without what open requests have reserved.' }) usd!: string;
  @ApiProperty(amount) bundled!: string;
  @ApiProperty(amount) diem!: string;
  @ApiProperty({ ...amount, description: 'DIEM of each UTC day.' }) diemAllowance!: string;
}

export class AdminEntryResponse {
  @ApiProperty({ type: 'string', example: '1024' }) id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) at!: string;
  @ApiProperty({
    type: 'string',
    example: 'charge',
    description: 'charge, top_up, grant, revoke, allowance, expiry, closing.',
  })
  kind!: string;

  @ApiProperty({ type: 'string', enum: ['USD', 'DIEM', 'BUNDLED'] }) currency!: string;
  @ApiProperty({ ...amount, description: 'Negative for a charge.', example: '-0.000048000' }) amount!: string;
  @ApiProperty({ type: 'string', nullable: true, example: 'stories-15m-llm-output-mtoken' }) sku!: string | null;
  @ApiProperty({ type: 'string', nullable: true, description: 'The request that was charged.' }) requestId!:
    string | null;
  @ApiProperty({ type: 'string' }) note!: string;
}

export class AdminEntriesResponse {
  @ApiProperty({ type: () => AdminEntryResponse, isArray: true, maxItems: 200 }) data!: AdminEntryResponse[];
  @ApiProperty({ type: 'string', nullable: true }) nextCursor!: string | null;
}

export class AdminTopUpResponse {
  @ApiProperty({ type: 'string', format: 'uuid' }) id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) at!: string;
  @ApiProperty({ type: 'string', enum: ['authorized', 'pending', 'settled', 'expired', 'failed'] }) state!: string;
  @ApiProperty({ type: 'string', example: 'eip155:8453' }) network!: string;
  @ApiProperty({ ...amount, description: 'What the wallet paid, in USD.' }) amount!: string;
  @ApiProperty({ ...amount, description: 'What of it is on the account.' }) credited!: string;
  @ApiProperty({ type: 'string', nullable: true, description: 'The transaction of the network.' }) transaction!:
    string | null;
  @ApiProperty({ type: 'string', nullable: true, description: 'Why it failed, as a sentence.' }) message!:
    string | null;
}

export class AdminBillingResponse {
  @ApiProperty({ type: () => AdminBalancesResponse }) balances!: AdminBalancesResponse;
  @ApiProperty({ ...amount, description: 'Reserved by open requests, in all currencies.' }) reserved!: string;
  @ApiProperty({ type: () => AdminEntriesResponse }) entries!: AdminEntriesResponse;
  @ApiProperty({
    type: () => AdminTopUpResponse,
    isArray: true,
    description: 'The latest 20 payments of wallets. Credits of operators are only in `entries`.',
  })
  topUps!: AdminTopUpResponse[];
}
