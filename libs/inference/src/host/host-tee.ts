import { PlatformError } from '#common';
import type { EvidenceReader, HostIdentity, TeeChoice } from '#tee';

/** What an api asks a host. `nonce`: 32 or 64 hex characters. `text`: what `signedText` of #tee returns. */
export type HostInquiry = { type: 'attest'; nonce: string } | { type: 'sign'; requestId: string; text: string };

/** The key of a host as its worker publishes it, or why the host has none although it should. */
export type HostTeeReport = { publicKey: string; address: string; provider: string } | { failure: string };

/** Requests whose end is remembered until they are signed: more than a host ends while an api asks. */
const maxEnded = 10_000;

/**
 * The key of this host, and what it does with it. It signs each request that ended here once: nobody can have it sign a
 * second response to a request, or a request that it did not run.
 */
export class HostTee {
  private readonly ended = new Set<string>();

  private constructor(
    private readonly tee: typeof import('#tee'),
    readonly identity: HostIdentity,
    private readonly reader: EvidenceReader | null,
  ) {}

  /** Loads the library and makes the key. Rejects with the reason when the hardware gives no evidence. */
  static async open(choice: TeeChoice): Promise<HostTee> {
    const tee = await import('#tee');
    return new HostTee(tee, tee.createHostIdentity(), await tee.openEvidence(choice));
  }

  get report(): HostTeeReport {
    const { publicKey, address } = this.identity;
    return { publicKey, address, provider: this.reader?.provider ?? 'software' };
  }

  /** A run ended here. Its id is that of the request, with the number of the run. */
  noteEnd(runId: string): void {
    const [requestId = runId] = runId.split('#', 1);
    this.ended.add(requestId);
    const [oldest] = this.ended;
    if (this.ended.size > maxEnded && oldest !== undefined) this.ended.delete(oldest);
  }

  /** Rejects with `TEE_ATTESTATION_FAILED` or `TEE_SIGNATURE_FAILED`. */
  async answer(inquiry: HostInquiry): Promise<object> {
    return inquiry.type === 'attest' ? await this.attest(inquiry.nonce) : this.sign(inquiry);
  }

  private async attest(nonceText: string): Promise<object> {
    const { identity, reader } = this;
    const nonce = this.tee.readNonce(nonceText);
    if (nonce === null) throw new PlatformError('TEE_ATTESTATION_FAILED', 'A nonce has 32 or 64 hex characters.');
    try {
      return await this.tee.attestHost({ identity, reader }, nonce);
    } catch (error) {
      throw new PlatformError('TEE_ATTESTATION_FAILED', 'The hardware returned no evidence.', null, { cause: error });
    }
  }

  private sign({ requestId, text }: Extract<HostInquiry, { type: 'sign' }>): object {
    if (this.tee.parseSignedText(text) === null) throw notSigned('The text is not one that hosts sign.');
    if (!this.ended.delete(requestId)) throw notSigned('The host that ran the request is gone, or has signed it.');
    const { publicKey, address } = this.identity;
    return { publicKey, address, signature: this.identity.sign(text) };
  }
}

function notSigned(message: string): PlatformError {
  return new PlatformError('TEE_SIGNATURE_FAILED', message);
}
