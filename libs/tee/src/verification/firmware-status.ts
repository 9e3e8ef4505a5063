import { EvidenceError } from '../evidence/evidence.js';
import type { FirmwareStatus } from './verify-attestation.js';

/** The package that compares a quote with the data of its maker. Not installed with the product, which needs none of it. */
const verifierName = '@phala/dcap-qvl';

interface Verifier {
  verify(quote: Uint8Array, collateral: object, nowSeconds: number): { status: string; advisory_ids: string[] };
  getCollateral(server: string, quote: Uint8Array): Promise<object>;
}

/** Where the data of the maker comes from: a file that was read, or a caching server of it. */
export type CollateralSource = { readonly collateral: object } | { readonly server: string };

/** Returns the check of firmware. Rejects with an `EvidenceError` when the package is not installed. */
export async function openFirmwareCheck(
  source: CollateralSource,
  nowMs: number,
): Promise<(quote: Uint8Array) => Promise<FirmwareStatus>> {
  const verifier = await loadVerifier();
  return async (quote) => {
    const bytes = Buffer.from(quote);
    const collateral = 'collateral' in source ? source.collateral : await verifier.getCollateral(source.server, bytes);
    const { status, advisory_ids: advisories } = verifier.verify(bytes, collateral, Math.floor(nowMs / 1_000));
    return { status, advisories };
  };
}

async function loadVerifier(): Promise<Verifier> {
  try {
    const loaded = (await import(verifierName)) as Verifier & { default?: Verifier };
    return loaded.default ?? loaded;
  } catch {
    throw new EvidenceError(
      `The firmware is checked by ${verifierName}, which is not installed: npm install ${verifierName}@0.3.9`,
    );
  }
}
