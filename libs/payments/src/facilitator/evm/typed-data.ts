import { encodeAbiParameters, hashTypedData, keccak256, recoverAddress, stringToHex } from 'viem/utils';
import type { Authorization, Hex } from './authorization.js';

/** The EIP-712 domain of a token. */
export interface TokenDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Hex;
}

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** The hash that the payer signs. */
export function hashAuthorization(domain: TokenDomain, authorization: Authorization): Hex {
  return hashTypedData({ domain, types, primaryType: 'TransferWithAuthorization', message: { ...authorization } });
}

const domainType = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const domainFields = ['bytes32', 'bytes32', 'bytes32', 'uint256', 'address'].map((type) => ({ type }));

/** What `DOMAIN_SEPARATOR()` of the token returns, if this is its domain. */
export function separatorOf({ name, version, chainId, verifyingContract }: TokenDomain): Hex {
  const hashes = [domainType, name, version].map((text) => keccak256(stringToHex(text)));
  return keccak256(encodeAbiParameters(domainFields, [...hashes, BigInt(chainId), verifyingContract]));
}

/** Upper half of the curve's order: a signature with such an s is the twin of another one, and tokens refuse it. */
const maxS = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

export interface KeySignature {
  readonly r: Hex;
  readonly s: Hex;
  /** 27 or 28. */
  readonly v: 27 | 28;
}

/** Splits a signature of a key: 65 bytes, or 64 in the compact form of EIP-2098. Null: none that tokens accept. */
export function splitSignature(signature: Hex): KeySignature | null {
  const bytes = (signature.length - 2) / 2;
  if (bytes !== 65 && bytes !== 64) return null;
  const r: Hex = `0x${signature.slice(2, 66)}`;
  let s = BigInt(`0x${signature.slice(66, 130)}`);
  let parity: number;
  if (bytes === 64) {
    parity = Number(s >> 255n);
    s &= (1n << 255n) - 1n;
  } else {
    const v = Number.parseInt(signature.slice(130), 16);
    parity = v >= 27 ? v - 27 : v;
  }
  if (s === 0n || s > maxS || (parity !== 0 && parity !== 1)) return null;
  return { r, s: `0x${s.toString(16).padStart(64, '0')}`, v: parity === 0 ? 27 : 28 };
}

/** Returns the address whose key signed `hash`, in lower case, or null: numbers outside of the curve. */
export async function recoverSigner(hash: Hex, { r, s, v }: KeySignature): Promise<Hex | null> {
  try {
    const yParity = v - 27;
    return (await recoverAddress({ hash, signature: { r, s, yParity } })).toLowerCase() as Hex;
  } catch {
    return null;
  }
}

const wrongNames = ['USD Coin', 'USDC'];
const wrongVersions = ['1', '2'];
const wrongChains = [1, 8453, 84532];

export function describeDomain({ name, version, chainId, verifyingContract }: TokenDomain): string {
  return `name "${name}", version "${version}", chain id ${chainId}, verifying contract ${verifyingContract}`;
}

/** Finds the domain of a common mistake for which the signature would have been the payer's. */
export async function findSignedDomain(
  expected: TokenDomain,
  { authorization, signature }: { authorization: Authorization; signature: KeySignature },
): Promise<TokenDomain | null> {
  for (const name of new Set([expected.name, ...wrongNames]))
    for (const version of new Set([expected.version, ...wrongVersions]))
      for (const chainId of new Set([expected.chainId, ...wrongChains])) {
        const domain = { ...expected, name, version, chainId };
        const signer = await recoverSigner(hashAuthorization(domain, authorization), signature);
        if (signer === authorization.from) return domain;
      }
  return null;
}
