import {
  Validate,
  ValidatorConstraint,
  type ValidationArguments,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { type ConfigClass, IntegerVariable, TextVariable } from './variable.js';

/* Variables of the crypto RPC proxy, which the api and the command line read. */

/** Networks that callers may name, sorted. */
export const rpcNetworkNames = [
  'arbitrum-mainnet',
  'arbitrum-sepolia',
  'avalanche-fuji',
  'avalanche-mainnet',
  'base-mainnet',
  'base-sepolia',
  'bsc-mainnet',
  'bsc-testnet',
  'ethereum-holesky',
  'ethereum-mainnet',
  'ethereum-sepolia',
  'linea-mainnet',
  'linea-sepolia',
  'optimism-mainnet',
  'optimism-sepolia',
  'polygon-amoy',
  'polygon-mainnet',
  'robinhood-mainnet',
  'robinhood-testnet',
  'solana-devnet',
  'solana-mainnet',
  'starknet-mainnet',
  'starknet-sepolia',
  'zksync-mainnet',
  'zksync-sepolia',
] as const;
export type RpcNetworkName = (typeof rpcNetworkNames)[number];

/** A node of the operator. */
export interface RpcUpstreamSettings {
  network: RpcNetworkName;
  /** Without a fragment; holds a key, as a rule. */
  url: string;
  /** It has the state of old blocks. */
  isArchive: boolean;
}

/** Settings of the proxy; upstreams of a network are asked in their order. */
export interface RpcSettings {
  upstreams: RpcUpstreamSettings[];
  timeoutMs: number;
  /** A read that takes longer, in ms, is asked of the next node, too; 0: never. */
  hedgeMs: number;
}

/** Properties that the decorators below set. */
export interface RpcVariables {
  rpcUpstreams?: string;
  rpcTimeoutMs: number;
  rpcHedgeMs?: number;
}

export const RpcHedge = (): PropertyDecorator =>
  IntegerVariable('SLUICE_RPC_HEDGE_MS', {
    about: 'Time after which an RPC read also goes to a second node; 0: never.',
    default: 0,
    min: 0,
    max: 20_000,
  });

/** Every entry names a known network and a usable URL. Messages show no URL: it may hold a key. */
@ValidatorConstraint({ name: 'areUpstreams' })
class AreUpstreams implements ValidatorConstraintInterface {
  validate(_value: unknown, { object }: ValidationArguments): boolean {
    return problemOf(object as RpcVariables) === null;
  }

  defaultMessage({ object }: ValidationArguments): string {
    return problemOf(object as RpcVariables) ?? '';
  }
}

function entriesOf({ rpcUpstreams }: RpcVariables): string[] {
  return rpcUpstreams?.split(/\s+/).filter(Boolean) ?? [];
}

function isNetwork(name: string): name is RpcNetworkName {
  return (rpcNetworkNames as readonly string[]).includes(name);
}

function problemOf(variables: RpcVariables): string | null {
  for (const [index, entry] of entriesOf(variables).entries()) {
    const at = `Entry ${index + 1} of SLUICE_RPC_UPSTREAMS`;
    const [name = ''] = entry.split('=', 1);
    if (!entry.includes('=')) return `${at} is no network=URL.`;
    if (!isNetwork(name)) return `${at} names an unknown network; the networks are ${rpcNetworkNames.join(', ')}.`;
    const [url = '', mark = 'archive'] = entry.slice(name.length + 1).split('#', 2);
    if (!/^https?:/.test(url) || !URL.canParse(url)) return `${at} (${name}) has no http or https URL.`;
    if (mark !== 'archive') return `${at} (${name}) may end with #archive only.`;
  }
  return null;
}

export function rpcSettingsOf(variables: RpcVariables): RpcSettings {
  const upstreams = entriesOf(variables).flatMap((entry): RpcUpstreamSettings[] => {
    const [network = ''] = entry.split('=', 1);
    if (!isNetwork(network)) return [];
    const [url = '', mark] = entry.slice(network.length + 1).split('#', 2);
    return [{ network, url, isArchive: mark === 'archive' }];
  });
  return { upstreams, timeoutMs: variables.rpcTimeoutMs, hedgeMs: variables.rpcHedgeMs ?? 0 };
}

/** Adds the nodes of crypto RPC. */
export function WithRpcNodes<Base extends ConfigClass>(base: Base) {
  class WithRpcNodes extends base {
    @TextVariable('SLUICE_RPC_UPSTREAMS', {
      about:
        'Nodes of crypto RPC (docs/guides/crypto-rpc.md) in their order, such as `base-mainnet=https://node.example.org/key`; ' +
        '`#archive` behind a URL marks a node with old states.',
      optional: true,
      secret: true,
      expected: 'a URL by network, separated by spaces or line breaks',
    })
    rpcUpstreams?: string;

    @IntegerVariable('SLUICE_RPC_TIMEOUT_MS', {
      about: 'Time a node may take; then a read asks the next one.',
      default: 15_000,
      min: 100,
      max: 20_000,
    })
    rpcTimeoutMs!: number;

    @Validate(AreUpstreams)
    get rpc(): RpcSettings {
      return rpcSettingsOf(this);
    }
  }
  return WithRpcNodes;
}
