import {
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { ChoiceVariable, type ConfigClass, IntegerVariable, TextVariable } from './variable.js';

/* Variables of top-ups (docs/guides/wallets.md). The api offers and parses payments; ops verifies and settles them. */

/** Seconds that a client may let pass between signing and settling. */
const maxTimeoutSeconds = 300;

/** A network on which the operator takes payments. */
export interface PaymentNetworkSettings {
  kind: 'evm' | 'solana';
  /** CAIP-2, such as `eip155:8453`. */
  network: string;
  /** Token contract or mint; its units have six decimals. */
  asset: string;
  payTo: string;
  /** EIP-712 name and version on an EVM chain; the address of the fee payer on Solana. */
  extra: Record<string, string>;
  maxTimeoutSeconds: number;
}

/** What the api offers. Without networks, the operator takes no payments. */
export interface PaymentSettings {
  networks: PaymentNetworkSettings[];
  minUsd: number;
  maxUsd: number;
}

/** How ops verifies and settles on a network. */
export interface PaymentExecutionNetwork extends PaymentNetworkSettings {
  /** JSON-RPC endpoint of a node; holds a key, as a rule. */
  rpcUrl: string;
  /** Key of the wallet that sends transactions; null: the facilitator by URL settles. */
  feePayerKey: string | null;
  /** Blocks that a transfer must be deep (EVM). */
  confirmations: number;
  commitment: 'confirmed' | 'finalized';
}

/** A facilitator by URL. */
export interface FacilitatorSettings {
  url: string;
  /** Sent as a bearer token. */
  token: string | null;
}

export interface PaymentExecutionSettings {
  networks: PaymentExecutionNetwork[];
  facilitator: FacilitatorSettings | null;
}

/** Properties that the decorators below set; those that every process of payments reads. */
export interface PaymentVariables {
  paymentEvmAddress?: string;
  paymentEvmNetwork: string;
  paymentEvmAsset: string;
  paymentEvmAssetName: string;
  paymentEvmAssetVersion: string;
  paymentSolanaAddress?: string;
  paymentSolanaNetwork: string;
  paymentSolanaAsset: string;
  paymentSolanaFeePayer?: string;
}

export interface PaymentLimitVariables extends PaymentVariables {
  paymentMinUsd: number;
  paymentMaxUsd: number;
}

export interface PaymentExecutionVariables extends PaymentVariables {
  paymentEvmRpcUrl?: string;
  paymentEvmFeePayerKey?: string;
  paymentEvmConfirmations: number;
  paymentSolanaRpcUrl?: string;
  paymentSolanaFeePayerKey?: string;
  paymentSolanaCommitment: 'confirmed' | 'finalized';
  paymentFacilitatorUrl?: string;
  paymentFacilitatorToken?: string;
}

const evmAddress = { pattern: /^0x[0-9a-fA-F]{40}$/, expected: '0x and 40 hex digits' };
const solanaAddress = { pattern: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/, expected: '32 to 44 base58 characters' };
const httpUrl = { pattern: /^https?:\/\/.+/, expected: 'an http or https URL' };

function problemOfTerms(variables: PaymentVariables): string | null {
  const { paymentSolanaAddress, paymentSolanaFeePayer } = variables;
  if ((paymentSolanaAddress === undefined) !== (paymentSolanaFeePayer === undefined)) {
    return 'SLUICE_PAYMENT_SOLANA_ADDRESS and SLUICE_PAYMENT_SOLANA_FEE_PAYER must be set together or not at all.';
  }
  if (paymentSolanaAddress !== undefined && paymentSolanaAddress === paymentSolanaFeePayer) {
    return 'SLUICE_PAYMENT_SOLANA_ADDRESS and SLUICE_PAYMENT_SOLANA_FEE_PAYER are the same; expected two wallets.';
  }
  return null;
}

function problemOfExecution(variables: PaymentExecutionVariables): string | null {
  const facilitator = variables.paymentFacilitatorUrl;
  type Setting = readonly [value: string | undefined, variable: string];
  const networks: { payTo: Setting; rpcUrl: Setting; key: Setting }[] = [
    {
      payTo: [variables.paymentEvmAddress, 'SLUICE_PAYMENT_EVM_ADDRESS'],
      rpcUrl: [variables.paymentEvmRpcUrl, 'SLUICE_PAYMENT_EVM_RPC_URL'],
      key: [variables.paymentEvmFeePayerKey, 'SLUICE_PAYMENT_EVM_FEE_PAYER_KEY'],
    },
    {
      payTo: [variables.paymentSolanaAddress, 'SLUICE_PAYMENT_SOLANA_ADDRESS'],
      rpcUrl: [variables.paymentSolanaRpcUrl, 'SLUICE_PAYMENT_SOLANA_RPC_URL'],
      key: [variables.paymentSolanaFeePayerKey, 'SLUICE_PAYMENT_SOLANA_FEE_PAYER_KEY'],
    },
  ];
  for (const { payTo, rpcUrl, key } of networks) {
    if (payTo[0] === undefined) continue;
    if (rpcUrl[0] === undefined) {
      return `${payTo[1]} is set without ${rpcUrl[1]}, which tells what became of a payment.`;
    }
    if (key[0] === undefined && facilitator === undefined) {
      return `${payTo[1]} needs ${key[1]} or SLUICE_PAYMENT_FACILITATOR_URL, which settle payments.`;
    }
  }
  return problemOfTerms(variables);
}

/** The smallest amount is at most the largest, and each network is complete. */
@ValidatorConstraint({ name: 'arePayable' })
class ArePayable implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    return this.problemOf(object as PaymentLimitVariables) === null;
  }

  defaultMessage({ object }: ValidationArguments): string {
    return this.problemOf(object as PaymentLimitVariables) ?? '';
  }

  private problemOf(variables: PaymentLimitVariables): string | null {
    if (variables.paymentMinUsd > variables.paymentMaxUsd) {
      return 'SLUICE_PAYMENT_MIN_USD is more than SLUICE_PAYMENT_MAX_USD.';
    }
    return problemOfTerms(variables);
  }
}

/** Each network has a node, and something that settles on it. */
@ValidatorConstraint({ name: 'areExecutable' })
class AreExecutable implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    return problemOfExecution(object as PaymentExecutionVariables) === null;
  }

  defaultMessage({ object }: ValidationArguments): string {
    return problemOfExecution(object as PaymentExecutionVariables) ?? '';
  }
}

function networksOf(variables: PaymentVariables): PaymentNetworkSettings[] {
  const { paymentEvmAddress, paymentSolanaAddress, paymentSolanaFeePayer } = variables;
  const networks: PaymentNetworkSettings[] = [];
  if (paymentEvmAddress !== undefined) {
    networks.push({
      kind: 'evm',
      network: variables.paymentEvmNetwork,
      asset: variables.paymentEvmAsset,
      payTo: paymentEvmAddress,
      extra: { name: variables.paymentEvmAssetName, version: variables.paymentEvmAssetVersion },
      maxTimeoutSeconds,
    });
  }
  if (paymentSolanaAddress !== undefined && paymentSolanaFeePayer !== undefined) {
    networks.push({
      kind: 'solana',
      network: variables.paymentSolanaNetwork,
      asset: variables.paymentSolanaAsset,
      payTo: paymentSolanaAddress,
      extra: { feePayer: paymentSolanaFeePayer },
      maxTimeoutSeconds,
    });
  }
  return networks;
}

export function paymentSettingsOf(variables: PaymentLimitVariables): PaymentSettings {
  const { paymentMinUsd: minUsd, paymentMaxUsd: maxUsd } = variables;
  return { networks: networksOf(variables), minUsd, maxUsd };
}

export function paymentExecutionOf(variables: PaymentExecutionVariables): PaymentExecutionSettings {
  const { paymentFacilitatorUrl: url, paymentFacilitatorToken: token = null } = variables;
  const networks = networksOf(variables).map((network): PaymentExecutionNetwork => {
    const isEvm = network.kind === 'evm';
    return {
      ...network,
      rpcUrl: (isEvm ? variables.paymentEvmRpcUrl : variables.paymentSolanaRpcUrl) ?? '',
      feePayerKey: (isEvm ? variables.paymentEvmFeePayerKey : variables.paymentSolanaFeePayerKey) ?? null,
      confirmations: variables.paymentEvmConfirmations,
      commitment: variables.paymentSolanaCommitment,
    };
  });
  return { networks, facilitator: url === undefined ? null : { url, token } };
}

/** Adds the networks and tokens of top-ups. */
function WithPaymentTerms<Base extends ConfigClass>(base: Base) {
  class WithPaymentTerms extends base {
    @TextVariable('SLUICE_PAYMENT_EVM_ADDRESS', {
      about: 'Address for USDC of EVM top-ups only (docs/guides/wallets.md).',
      optional: true,
      ...evmAddress,
    })
    paymentEvmAddress?: string;

    @TextVariable('SLUICE_PAYMENT_EVM_NETWORK', {
      about: 'Chain of EVM top-ups, in CAIP-2; default: Base.',
      default: 'eip155:8453',
      pattern: /^eip155:[1-9]\d{0,14}$/,
      expected: 'eip155: and a chain id',
    })
    paymentEvmNetwork!: string;

    @TextVariable('SLUICE_PAYMENT_EVM_ASSET', {
      about: 'Token contract of EVM top-ups, with EIP-3009 and six decimals; default: USDC on Base.',
      default: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      ...evmAddress,
    })
    paymentEvmAsset!: string;

    @TextVariable('SLUICE_PAYMENT_EVM_ASSET_NAME', {
      about: 'EIP-712 name of that token; ops compares it with the contract at start.',
      default: 'USD Coin',
      pattern: /^[ -~]{1,64}$/,
      expected: '1 to 64 ASCII characters',
    })
    paymentEvmAssetName!: string;

    @TextVariable('SLUICE_PAYMENT_EVM_ASSET_VERSION', {
      about: 'EIP-712 version of that token.',
      default: '2',
      pattern: /^[ -~]{1,16}$/,
      expected: '1 to 16 ASCII characters',
    })
    paymentEvmAssetVersion!: string;

    @TextVariable('SLUICE_PAYMENT_SOLANA_ADDRESS', {
      about: 'Wallet for USDC of Solana top-ups only, with a token account.',
      optional: true,
      ...solanaAddress,
    })
    paymentSolanaAddress?: string;

    @TextVariable('SLUICE_PAYMENT_SOLANA_NETWORK', {
      about: 'Solana cluster of top-ups, in CAIP-2; default: mainnet.',
      default: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      pattern: /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/,
      expected: 'solana: and the first 32 characters of the genesis hash',
    })
    paymentSolanaNetwork!: string;

    @TextVariable('SLUICE_PAYMENT_SOLANA_ASSET', {
      about: 'Mint of Solana top-ups, with six decimals; default: USDC.',
      default: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
      ...solanaAddress,
    })
    paymentSolanaAsset!: string;

    @TextVariable('SLUICE_PAYMENT_SOLANA_FEE_PAYER', {
      about:
        'Wallet that pays fees of Solana top-ups: that of SLUICE_PAYMENT_SOLANA_FEE_PAYER_KEY or of the facilitator.',
      optional: true,
      ...solanaAddress,
    })
    paymentSolanaFeePayer?: string;
  }
  return WithPaymentTerms;
}

/** Adds what the api offers. */
export function WithPaymentOffers<Base extends ConfigClass>(base: Base) {
  class WithPaymentOffers extends WithPaymentTerms(base) {
    @IntegerVariable('SLUICE_PAYMENT_MIN_USD', { about: 'Smallest top-up, in USD.', default: 5, min: 1, max: 10_000 })
    paymentMinUsd!: number;

    @IntegerVariable('SLUICE_PAYMENT_MAX_USD', {
      about: 'Largest top-up, in USD.',
      default: 10_000,
      min: 1,
      max: 1_000_000,
    })
    paymentMaxUsd!: number;

    @Validate(ArePayable)
    get payments(): PaymentSettings {
      return paymentSettingsOf(this);
    }
  }
  return WithPaymentOffers;
}

/** Adds how ops verifies and settles. */
export function WithPaymentExecution<Base extends ConfigClass>(base: Base) {
  class WithPaymentExecution extends WithPaymentTerms(base) {
    @TextVariable('SLUICE_PAYMENT_EVM_RPC_URL', {
      about: 'Node that tells what became of EVM payments.',
      optional: true,
      ...httpUrl,
      secret: true,
    })
    paymentEvmRpcUrl?: string;

    @TextVariable('SLUICE_PAYMENT_EVM_FEE_PAYER_KEY', {
      about: 'Key of the wallet that sends EVM top-ups, instead of the facilitator.',
      optional: true,
      pattern: /^(0x)?[0-9a-fA-F]{64}$/,
      expected: '64 hex digits',
      secret: true,
    })
    paymentEvmFeePayerKey?: string;

    @IntegerVariable('SLUICE_PAYMENT_EVM_CONFIRMATIONS', {
      about: 'Blocks of depth an EVM top-up needs before it is credited.',
      default: 1,
      min: 1,
      max: 1_000,
    })
    paymentEvmConfirmations!: number;

    @TextVariable('SLUICE_PAYMENT_SOLANA_RPC_URL', {
      about: 'Node that tells what became of Solana payments.',
      optional: true,
      ...httpUrl,
      secret: true,
    })
    paymentSolanaRpcUrl?: string;

    @TextVariable('SLUICE_PAYMENT_SOLANA_FEE_PAYER_KEY', {
      about: 'Key of the wallet that sends Solana top-ups, instead of the facilitator.',
      optional: true,
      pattern: /^[1-9A-HJ-NP-Za-km-z]{80,90}$/,
      expected: 'the 64 bytes of a key pair in base58',
      secret: true,
    })
    paymentSolanaFeePayerKey?: string;

    @ChoiceVariable('SLUICE_PAYMENT_SOLANA_COMMITMENT', {
      about: 'Commitment a Solana top-up needs before it is credited.',
      default: 'confirmed',
      choices: ['confirmed', 'finalized'],
    })
    paymentSolanaCommitment!: 'confirmed' | 'finalized';

    @TextVariable('SLUICE_PAYMENT_FACILITATOR_URL', {
      about: 'Facilitator (x402, version 2) for networks without a fee payer key.',
      optional: true,
      ...httpUrl,
    })
    paymentFacilitatorUrl?: string;

    @TextVariable('SLUICE_PAYMENT_FACILITATOR_TOKEN', {
      about: 'Bearer token for that facilitator.',
      optional: true,
      pattern: /^[!-~]{1,4096}$/,
      expected: 'ASCII characters without spaces',
      secret: true,
    })
    paymentFacilitatorToken?: string;

    @Validate(AreExecutable)
    get paymentExecution(): PaymentExecutionSettings {
      return paymentExecutionOf(this);
    }
  }
  return WithPaymentExecution;
}
