import { ApiProperty } from '@nestjs/swagger';

/* Responses of `POST /x402/top-up`, for the API document. */

export class TopUpDataResponse {
  @ApiProperty({ type: 'string', example: '0x52908400098527886e0f7030069857d2e4169ee7' }) walletAddress!: string;
  @ApiProperty({ type: 'number', description: 'USD.', example: 10 }) amountCredited!: number;
  @ApiProperty({ type: 'number', description: 'USD, right after the credit.', example: 12.5 }) newBalance!: number;
  @ApiProperty({ type: 'string', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' }) paymentId!: string;
}

export class TopUpResponse {
  @ApiProperty({ type: 'boolean', enum: [true] }) success!: boolean;
  @ApiProperty({ type: () => TopUpDataResponse }) data!: TopUpDataResponse;
}

export class PendingTopUpDataResponse {
  @ApiProperty({ type: 'string', example: '0x52908400098527886e0f7030069857d2e4169ee7' }) walletAddress!: string;
  @ApiProperty({ type: 'number', description: 'USD that will be credited.', example: 10 }) amount!: number;
  @ApiProperty({ type: 'string', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' }) paymentId!: string;
}

export class PendingTopUpResponse {
  @ApiProperty({ type: 'boolean', enum: [false] }) success!: boolean;
  @ApiProperty({ type: 'string', enum: ['settlement_pending'] }) status!: string;
  @ApiProperty({ type: 'string', example: 'The payment of $10.00 is being settled.' }) message!: string;
  @ApiProperty({ type: () => PendingTopUpDataResponse }) data!: PendingTopUpDataResponse;
}

export class PaymentError {
  @ApiProperty({ type: 'string', description: 'Error code.', example: 'X402_INVALID_PAYMENT' }) error!: string;
  @ApiProperty({ type: 'string', example: 'payload.authorization.value must be $5 to $10000.' }) message!: string;
  @ApiProperty({ type: Object, required: false, description: '`reason`, a word of the protocol.' }) details?: object;
}

export class PaymentRequirementResponse {
  @ApiProperty({ type: 'string', enum: ['exact'] }) scheme!: string;
  @ApiProperty({ type: 'string', description: 'CAIP-2.', example: 'eip155:8453' }) network!: string;
  @ApiProperty({ type: 'string', description: 'Smallest top-up, in base units.', example: '5000000' }) amount!: string;
  @ApiProperty({ type: 'string', example: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }) asset!: string;
  @ApiProperty({ type: 'string', example: '0x8617E340B3D01FA5F11F306F4090FD50E238070D' }) payTo!: string;
  @ApiProperty({ type: 'number', example: 300 }) maxTimeoutSeconds!: number;

  @ApiProperty({ type: Object, required: false, example: { name: 'USD Coin', version: '2' } })
  extra?: object;
}

export class PaymentRequiredResponse {
  @ApiProperty({ type: 'number', example: 2 }) x402Version!: number;
  @ApiProperty({ type: 'string', required: false, example: 'PAYMENT-SIGNATURE header is required.' }) error?: string;

  @ApiProperty({ type: Object, required: false, description: 'What is paid for: `url`, `description`, `mimeType`.' })
  resource?: object;

  @ApiProperty({ type: () => PaymentRequirementResponse, isArray: true }) accepts!: PaymentRequirementResponse[];
}
