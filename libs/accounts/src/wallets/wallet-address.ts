import { base58Bytes } from './base58.js';

/** The two kinds of chains, by the namespaces of their ids (CAIP-2). */
export type ChainFamily = 'eip155' | 'solana';

export interface WalletAddress {
  family: ChainFamily;
  /** As wallets are stored: lower case on EVM chains, base58 as it is on Solana. */
  stored: string;
}

/** Reads an address of either kind by its form; null for none. The checksum of an EVM address is looked at elsewhere. */
export function readWalletAddress(text: string): WalletAddress | null {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return { family: 'eip155', stored: text.toLowerCase() };
  return /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text) && base58Bytes(text, 32) !== null
    ? { family: 'solana', stored: text }
    : null;
}

/**
 * Whether the case of an EVM address is that of its checksum (EIP-55). Clients also send addresses of one case, which
 * have none.
 */
export async function hasRightChecksum(address: string): Promise<boolean> {
  const digits = address.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  const { keccak_256 } = await import('@noble/hashes/sha3');
  const hash = Buffer.from(keccak_256(digits.toLowerCase())).toString('hex');
  return [...digits].every((digit, index) => {
    const upper = Number.parseInt(hash[index] ?? '0', 16) >= 8;
    return digit === (upper ? digit.toUpperCase() : digit.toLowerCase());
  });
}
