import {
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { ListVariable, TextVariable } from './variable.js';

/* Variables of sign-ins with a wallet (docs/guides/wallets.md). Where payments go is among those of payments. */

/** Chains that clients name when they sign in, whatever chain they pay on. */
const defaultChains = ['eip155:8453', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'];

/** What wallets may sign in to. */
export interface WalletSettings {
  /** Whether the operator takes payments; without them, nobody signs in. */
  isOn: boolean;
  /** Public origins of the api; the first is the one that challenges name. */
  origins: string[];
  /** CAIP-2 ids. */
  chains: string[];
  /** JSON-RPC endpoints of nodes that contract wallets are asked through, by chain; they hold keys, as a rule. */
  rpcUrls: Map<string, string>;
}

/** Properties that the decorators below set, and others that they depend on. */
export interface WalletVariables {
  walletOrigins: string[];
  walletEvmRpcUrl?: string;
  publicUrl?: string;
  port: number;
  paymentEvmNetwork: string;
  payments: { networks: readonly { network: string }[] };
}

export const WalletOrigins = (): PropertyDecorator =>
  ListVariable('SLUICE_WALLET_ORIGINS', {
    about: 'Origins that wallets sign in to; default: `SLUICE_PUBLIC_URL`, else loopback addresses.',
    default: '',
    expected: 'http or https origins such as https://api.example.org, separated by commas',
  });

export const WalletEvmRpcUrl = (): PropertyDecorator =>
  TextVariable('SLUICE_WALLET_EVM_RPC_URL', {
    about: 'Node that checks signatures of contract wallets; without it, they are refused.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
    secret: true,
  });

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

@ValidatorConstraint({ name: 'areOrigins' })
class AreOrigins implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    return (object as WalletVariables).walletOrigins.every(isOrigin);
  }

  defaultMessage({ object }: ValidationArguments): string {
    const wrong = (object as WalletVariables).walletOrigins.find((text) => !isOrigin(text)) ?? '';
    return `SLUICE_WALLET_ORIGINS holds ${wrong}; expected origins as browsers write them, such as https://api.example.org.`;
  }
}

export const PublicOrigins = (): PropertyDecorator => Validate(AreOrigins);

export function walletSettingsOf(variables: WalletVariables): WalletSettings {
  const { walletOrigins, walletEvmRpcUrl, publicUrl, port, paymentEvmNetwork, payments } = variables;
  const local = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  // An address that is none is reported by its own variable.
  const published = publicUrl !== undefined && URL.canParse(publicUrl) ? [new URL(publicUrl).origin] : undefined;
  return {
    isOn: payments.networks.length > 0,
    origins: walletOrigins.length > 0 ? walletOrigins : (published ?? local),
    chains: [...new Set([...defaultChains, ...payments.networks.map(({ network }) => network)])],
    rpcUrls: new Map(walletEvmRpcUrl === undefined ? [] : [[paymentEvmNetwork, walletEvmRpcUrl]]),
  };
}
