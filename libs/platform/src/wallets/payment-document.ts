import { ApiProperty } from '@nestjs/swagger';

/* The bodies of a 402 for callers with wallets in the OpenAPI document (docs/guides/wallets.md). */

export class PaymentResourceDocument {
  @ApiProperty({ type: 'string', example: 'https://api.example.org/api/v1/chat/completions' }) url!: string;
  @ApiProperty({ type: 'string' }) description!: string;
  @ApiProperty({ type: 'string', example: 'application/json' }) mimeType!: string;
}

export class PaymentOfferDocument {
  @ApiProperty({ type: 'string', enum: ['exact'] }) scheme!: 'exact';
  @ApiProperty({ type: 'string', description: 'CAIP-2.', example: 'eip155:8453' }) network!: string;
  @ApiProperty({ type: 'string', description: 'Token contract or mint.' }) asset!: string;
  @ApiProperty({ type: 'string', description: 'Base units; the smallest top-up.', example: '5000000' }) amount!: string;
  @ApiProperty({ type: 'string' }) payTo!: string;
  @ApiProperty({ type: 'number', example: 300 }) maxTimeoutSeconds!: number;
  @ApiProperty({ type: Object, description: 'What the scheme needs on this network.' }) extra!: object;
}

export class ApiKeyOptionDocument {
  @ApiProperty({ type: 'string' }) header!: string;
  @ApiProperty({ type: 'string' }) getKey!: string;
  @ApiProperty({ type: 'string' }) docs!: string;
}

export class WalletOptionDocument {
  @ApiProperty({ type: 'string' }) header!: string;
  @ApiProperty({ type: 'string' }) legacyHeader!: string;
  @ApiProperty({ type: 'string' }) topUp!: string;
  @ApiProperty({ type: 'string' }) docs!: string;
}

export class AuthOptionsDocument {
  @ApiProperty({ type: () => ApiKeyOptionDocument }) apiKey!: ApiKeyOptionDocument;
  @ApiProperty({ type: () => WalletOptionDocument }) x402Wallet!: WalletOptionDocument;
}

/** A request without credentials. `PAYMENT-REQUIRED` has the same object, without `authOptions`. */
export class PaymentDiscovery {
  @ApiProperty({ type: 'number', example: 2 }) x402Version!: number;
  @ApiProperty({ type: 'string', required: false }) error?: string;
  @ApiProperty({ type: () => PaymentResourceDocument }) resource!: PaymentResourceDocument;
  @ApiProperty({ type: () => PaymentOfferDocument, isArray: true }) accepts!: PaymentOfferDocument[];
  @ApiProperty({ type: Object, required: false, description: '`sign-in-with-x`: a challenge to sign in with.' })
  extensions?: object;
  @ApiProperty({ type: () => AuthOptionsDocument }) authOptions!: AuthOptionsDocument;
}

export class TopUpInstructionsDocument {
  @ApiProperty({ type: 'string' }) step1!: string;
  @ApiProperty({ type: 'string' }) step2!: string;
  @ApiProperty({ type: 'string' }) step3!: string;
  @ApiProperty({ type: 'string' }) receiverWallet!: string;
  @ApiProperty({ type: 'string' }) tokenAddress!: string;
  @ApiProperty({ type: 'number', example: 6 }) tokenDecimals!: number;
  @ApiProperty({ type: 'string', example: 'eip155:8453' }) network!: string;
  @ApiProperty({ type: 'number', example: 5 }) minimumAmountUsd!: number;
}

export class SignInInfoDocument {
  @ApiProperty({ type: 'string' }) domain!: string;
  @ApiProperty({ type: 'string' }) uri!: string;
  @ApiProperty({ type: 'string', example: '1' }) version!: string;
  @ApiProperty({ type: 'string' }) nonce!: string;
  @ApiProperty({ type: 'string' }) issuedAt!: string;
  @ApiProperty({ type: 'string' }) expirationTime!: string;
  @ApiProperty({ type: 'string' }) statement!: string;
}

export class SignInChainDocument {
  @ApiProperty({ type: 'string', example: 'eip155:8453' }) chainId!: string;
  @ApiProperty({ type: 'string', enum: ['eip191', 'eip1271', 'ed25519'] }) type!: 'eip191' | 'eip1271' | 'ed25519';
}

export class SignInChallengeDocument {
  @ApiProperty({ type: () => SignInInfoDocument }) info!: SignInInfoDocument;
  @ApiProperty({ type: () => SignInChainDocument, isArray: true }) supportedChains!: SignInChainDocument[];
}

/** A wallet whose balance is too small. */
export class WalletPaymentRequired {
  @ApiProperty({ type: 'string', enum: ['Payment required'] }) error!: 'Payment required';
  @ApiProperty({ type: 'string', enum: ['PAYMENT_REQUIRED'] }) code!: 'PAYMENT_REQUIRED';
  @ApiProperty({ type: 'string', enum: ['insufficient_balance'] }) reason!: 'insufficient_balance';
  @ApiProperty({ type: 'string', required: false }) message?: string;
  @ApiProperty({ type: 'number', required: false }) currentBalanceUsd?: number;
  @ApiProperty({ type: 'number', required: false, example: 0.1 }) minimumBalanceUsd?: number;
  @ApiProperty({ type: 'string', required: false }) description?: string;
  @ApiProperty({ type: 'number', example: 10 }) suggestedTopUpUsd!: number;
  @ApiProperty({ type: 'number', example: 5 }) minimumTopUpUsd!: number;
  @ApiProperty({ type: 'string', isArray: true, example: ['USDC'] }) supportedTokens!: string[];
  @ApiProperty({ type: 'string', isArray: true, example: ['base', 'solana'] }) supportedChains!: string[];
  @ApiProperty({ type: () => TopUpInstructionsDocument }) topUpInstructions!: TopUpInstructionsDocument;
  @ApiProperty({ type: () => SignInChallengeDocument }) siwxChallenge!: SignInChallengeDocument;
}
