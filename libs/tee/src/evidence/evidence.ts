/** Where evidence comes from. `software`: there is none, and nothing is proven. */
export const teeProviders = ['tdx', 'sev-snp', 'software'] as const;
export type TeeProvider = (typeof teeProviders)[number];

/** What hardware says about the machine and 64 bytes of ours. */
export interface Evidence {
  /** A TDX quote, or an SEV-SNP report, as the hardware wrote it. */
  readonly quote: Uint8Array;
  /** SEV-SNP: the certificates that came with it, as the kernel returns them. */
  readonly certificates?: Uint8Array;
  /** TDX: the events behind the run-time measurements, as JSON. */
  readonly eventLog?: string;
}

/** Reads evidence from the hardware of a machine. */
export interface EvidenceReader {
  readonly provider: Exclude<TeeProvider, 'software'>;
  /** Rejects with an `EvidenceError`; never returns anything but what the hardware wrote about these 64 bytes. */
  read(reportData: Uint8Array): Promise<Evidence>;
}

/** Evidence could not be read. The message is for the operator. */
export class EvidenceError extends Error {}
