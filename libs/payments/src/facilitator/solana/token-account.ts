import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519';
import { encodeBase58 } from '#accounts';
import { addressBytes } from './solana-transaction.js';

export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const associatedTokenProgram = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';

/** The token account of `owner` for `mint` that wallets pay to. Whether it exists is another question. */
export function associatedTokenAccount({ owner, mint }: { owner: string; mint: string }): string {
  const seeds = [owner, tokenProgram, mint].map(addressBytes);
  const program = addressBytes(associatedTokenProgram);
  for (let bump = 255; bump >= 0; bump -= 1) {
    const digest = createHash('sha256');
    for (const part of [...seeds, Buffer.from([bump]), program, 'ProgramDerivedAddress']) digest.update(part);
    const address = digest.digest();
    if (!isOnCurve(address)) return encodeBase58(address);
  }
  throw new RangeError('there is no token account for this owner and mint');
}

/** Addresses of programs have no key: they are no points of the curve. */
function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.ExtendedPoint.fromHex(bytes);
    return true;
  } catch {
    return false;
  }
}
